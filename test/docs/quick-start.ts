// A quick start as a list of steps: what its reader runs, and what the page says is then to be seen. Pure.

import { codeBlocks } from "./pages.ts";

export interface Step {
  /** The block as it stands on the page, for sh. */
  readonly commands: string;
  /** A program that stays and is looked at from a second terminal. */
  readonly isKept: boolean;
  /** Lines of what it prints, with … for anything. */
  readonly see: readonly string[];
}

/** Blocks marked ```sh run, ```sh run keep for what stays, each with the ```text see that follows it. */
export function quickStart(text: string): Step[] {
  const steps: Step[] = [];
  for (const { language, marks, code } of codeBlocks(text)) {
    if (language === "sh" && marks[0] === "run") {
      steps.push({ commands: code, isKept: marks.includes("keep"), see: [] });
    } else if (language === "text" && marks[0] === "see") {
      const last = steps.pop();
      if (last === undefined) throw new Error("a block of what is seen stands before any command");
      steps.push({ ...last, see: code.split("\n").filter((line) => line.trim() !== "") });
    }
  }
  return steps;
}

const oneSpace = (text: string): string => text.replace(/[ \t]+/g, " ").trim();

/** The lines that the page promises and the output does not have. Widths of columns may differ. */
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

/** Whether a block only asks, so that it may be run again until the answer is there. */
export function onlyAsks(commands: string): boolean {
  return commands
    .trim()
    .split("\n")
    .every((line) => /^(?:npx )?(?:gpulse (?:query|stats|top|alerts)|curl) /.test(`${line} `));
}
