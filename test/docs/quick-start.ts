// A quick start as a list of steps: the reader's commands, and the output that the page promises.

import { codeBlocks, type DocPage, pages } from "./pages.ts";

export interface Step {
  /** The block as written on the page, for sh. */
  readonly commands: string;
  /** block: one script. keep: one program that keeps running. lines: command by command; a server runs until the next one. */
  readonly mode: "block" | "keep" | "lines";
  /** Lines of the expected output, with … for anything. */
  readonly see: readonly string[];
}

/** Blocks marked ```sh run, ```sh run keep or ```sh run lines, each with the ```text see that follows it. */
export function quickStart(text: string): Step[] {
  const steps: Step[] = [];
  for (const { language, marks, code } of codeBlocks(text)) {
    if (language === "sh" && marks[0] === "run") {
      const [, mode] = marks;
      if (mode !== undefined && mode !== "keep" && mode !== "lines")
        throw new Error(`unknown mark: sh run ${mode}`);
      steps.push({ commands: code, mode: mode ?? "block", see: [] });
    } else if (language === "text" && marks[0] === "see") {
      const last = steps.pop();
      if (last === undefined) throw new Error("a block of what is seen stands before any command");
      steps.push({ ...last, see: code.split("\n").filter((line) => line.trim() !== "") });
    }
  }
  return steps;
}

export function runnablePages(): DocPage[] {
  return pages().filter(({ text }) => quickStart(text).length > 0);
}

const oneSpace = (text: string): string => text.replace(/[ \t]+/g, " ").trim();

/** The promised lines that are missing in the output. Column widths may differ. */
export function unseen(see: readonly string[], output: string): string[] {
  const lines = output.split("\n").map(oneSpace);
  return see.filter((line) => {
    const parts = oneSpace(line).split("…").map(escaped);
    const pattern = new RegExp(parts.join(".*"));
    return !lines.some((one) => pattern.test(one));
  });
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** True if a block only queries, so that it may be repeated until the result appears. */
export function onlyAsks(commands: string): boolean {
  return commands
    .trim()
    .split("\n")
    .every((line) => /^(?:npx )?(?:gpulse (?:query|stats|top|alerts)|curl) /.test(`${line} `));
}

/** True if a quote, a here-document or a backslash continues the command on the next line. */
function isUnfinished(command: string): boolean {
  const bare = command.replace(/'[^']*'|"[^"]*"|(?:^|\s)#[^\n]*/g, "");
  const heredoc = /<<'?(\w+)'?/.exec(command)?.[1];
  const isInHeredoc = heredoc !== undefined && !command.endsWith(`\n${heredoc}`);
  return isInHeredoc || bare.endsWith("\\") || (heredoc === undefined && /["']/.test(bare));
}

/** The separate commands of a block; a command may span lines. Comment lines are omitted. */
export function shellCommands(code: string): string[] {
  const commands: string[] = [];
  let open = "";
  for (const line of code.split("\n")) {
    open = open === "" ? line : `${open}\n${line}`;
    if (isUnfinished(open)) continue;
    if (open.trim() !== "" && !open.trim().startsWith("#")) commands.push(open.trim());
    open = "";
  }
  return open === "" ? commands : [...commands, open.trim()];
}
