/**
 * The man pages, from the same declarations as `--help`: gpulse.1, and one page per command with its sub-commands. The same input
 * gives the same bytes.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { PassThrough } from "node:stream";
import {
  type ArgumentNode,
  type CommandNode,
  commandTree,
  type OptionNode,
} from "../../src/cli/completion/tree.ts";
import { buildProgram } from "../../src/cli/program.ts";

export interface ManPage {
  /** `gpulse-run.1`. */
  readonly name: string;
  readonly text: string;
}

export function manPages(version: string, changelog: string): readonly ManPage[] {
  const { program } = buildProgram({
    env: {},
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    version,
    stopped: () => new Promise(() => {}),
  });
  const tree = commandTree(program);
  const edition = { version, date: releaseDate(version, changelog) };
  return [tree, ...tree.commands].map((command) => ({
    name: `${pageName(command)}.1`,
    text: page(command, tree, edition),
  }));
}

export function writeManPages(folder: string, version: string, changelog: string): void {
  mkdirSync(folder, { recursive: true });
  for (const { name, text } of manPages(version, changelog))
    writeFileSync(path.join(folder, name), text);
}

/** The version's date in the changelog; empty before it is released. */
const releaseDate = (version: string, changelog: string): string =>
  new RegExp(`^## \\[?v?${version.replaceAll(".", "\\.")}\\]?.*?(\\d{4}-\\d\\d-\\d\\d)`, "m").exec(
    changelog,
  )?.[1] ?? "";

const pageName = ({ path: words }: CommandNode): string => ["gpulse", ...words].join("-");

function page(
  command: CommandNode,
  tree: CommandNode,
  { version, date }: { readonly version: string; readonly date: string },
): string {
  const name = pageName(command);
  const others = command === tree ? tree.commands : [tree];
  const lines = [
    `.TH ${roff(name.toUpperCase())} 1 "${date}" "gpulse ${version}" "gpulse manual"`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(firstSentence(command.summary))}`,
    ".SH SYNOPSIS",
    ...synopses(command),
    ".SH DESCRIPTION",
    ...paragraphs(command.description),
    ...argumentLines(command.arguments),
    ".SH OPTIONS",
    ...command.options.flatMap(optionLines),
  ];
  if (command === tree) {
    lines.push(".SH COMMANDS");
    for (const { path: words, summary } of tree.commands)
      lines.push(".TP", `.B gpulse ${roff(words.join(" "))}`, roffLine(`${summary}.`));
  } else if (command.commands.length > 0) {
    lines.push(".SH COMMANDS");
    for (const child of command.commands)
      lines.push(
        `.SS gpulse ${roff(child.path.join(" "))}`,
        ...paragraphs(child.description || `${capital(child.summary)}.`),
        ...argumentLines(child.arguments),
        ...child.options.filter(({ names }) => !names.includes("--help")).flatMap(optionLines),
        ...noteLines(child.notes, ".PP"),
      );
  }
  lines.push(...noteLines(command.notes, ".SH"));
  if (command === tree)
    lines.push(
      ".SH EXIT STATUS",
      ".TP",
      ".B 0",
      "Success.",
      ".TP",
      ".B 1",
      "The command failed, or the answer is no.",
      ".TP",
      ".B 2",
      "The command line or a file it names is not valid.",
    );
  lines.push(".SH SEE ALSO", others.map((one) => `.BR ${roff(pageName(one))} (1)`).join(",\n"), "");
  return lines.join("\n");
}

function synopses(command: CommandNode): string[] {
  const all = command.commands.length === 0 || command.arguments.length > 0 ? [command] : [];
  const usages = command.path.length === 0 ? [command] : [...all, ...command.commands];
  return usages.flatMap((one, index) => [
    ...(index === 0 ? [] : [".br"]),
    `.B ${roff(["gpulse", ...one.path].join(" "))}`,
    ...(one.path.length === 0 ? ["[\\fIcommand\\fR]"] : []),
    "[\\fIoptions\\fR]",
    ...one.arguments.map(
      ({ name, isRequired, isVariadic }) =>
        `${isRequired ? "" : "["}\\fI${roff(name)}\\fR${isVariadic ? " ..." : ""}${isRequired ? "" : "]"}`,
    ),
  ]);
}

const argumentLines = (all: readonly ArgumentNode[]): string[] =>
  all.flatMap(({ name, help }) => [".TP", `.I ${roff(name)}`, roffLine(capital(help))]);

function optionLines({ names, value, isOptional, help }: OptionNode): string[] {
  const shown = value === undefined ? "" : ` \\fI${roff(value)}\\fR`;
  const given = isOptional ? ` [\\fI${roff(value ?? "")}\\fR]` : shown;
  const flags = names.map((name) => `\\fB${roff(name)}\\fR`).join(", ");
  return [".TP", `${flags}${given}`, roffLine(capital(help))];
}

/** `Examples:` and similar titles become sections, or paragraphs of a section; indented lines stay unchanged. */
function noteLines(notes: string, heading: ".SH" | ".PP"): string[] {
  return notes.split(/\n{2,}/).flatMap((block) => {
    if (block === "") return [];
    const [first = "", ...rest] = block.split("\n");
    const title = /^([A-Z][\w ]*):\s*(.*)$/.exec(first);
    const [name, text] = title === null ? ["Notes", first] : [title[1] ?? "", title[2] ?? ""];
    return [
      ...(heading === ".SH" ? [`.SH ${name.toUpperCase()}`] : [".PP", `${name}:`]),
      ...(text === "" ? [] : [roffLine(text)]),
      ...(heading === ".PP" && rest.length > 0 ? [".PP"] : []),
      ...(rest.length === 0 ? [] : [".nf", ...rest.map(roffLine), ".fi"]),
    ];
  });
}

const paragraphs = (text: string): string[] => text.split("\n").map(roffLine);
const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const firstSentence = (text: string): string => text.replace(/\.$/, "");

/** A backslash begins an escape, a plain hyphen would be typeset as a typographic one, and non-ASCII letters need a name. */
const roff = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(
      /[^\n -~]/gu,
      (letter) => `\\[u${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}]`,
    );

/** A dot or a quote at the beginning of a line would be a request. */
const roffLine = (text: string): string => roff(text).replace(/^([.'])/, "\\&$1");
