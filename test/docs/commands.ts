// Finds the gpulse commands on a page and checks each against the program's real commands and flags.

import type { Command, Option } from "commander";

import { codeBlocks, inlineCode } from "./pages.ts";

const SHELLS = new Set(["", "sh", "bash", "shell", "console", "powershell"]);
const PROGRAM = /^(?:\.\/)?(?:bin\/)?gpulse$/;
/** The program's ready message, quoted in the prose; not a command. */
const PRINTED = /^gpulse is up:/;
const LEADS = new Set(["npx", "sudo", "exec", "time", "node", "nohup"]);

/** Splits a shell line into the words of separate commands, as far as documentation needs it: quotes, pipes, comments. */
export function shellWords(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [token] of line.matchAll(
    /\d?[<>]+&?\d?|&&|\|\||[|;&()]|#.*$|(?:"[^"]*"|'[^']*'|\\.|[^\s|;&()<>])+/g,
  )) {
    if (token.startsWith("#")) continue;
    if (/^(?:&&|\|\||[|;&()])$/.test(token)) commands.push([]);
    else commands.at(-1)?.push(token.replace(/^["']|["']$/g, ""));
  }
  return commands;
}

function gpulseArgs(words: readonly string[]): string[] | undefined {
  const start = words.findIndex((word) => !LEADS.has(word) && !/^\w+=/.test(word));
  const [first = "", ...rest] = words.slice(Math.max(start, 0));
  if (PROGRAM.test(first)) return rest;
  if (first === "npm" && rest[0] === "start")
    return ["up", ...rest.slice(rest.indexOf("--") + 1 || rest.length)];
  return undefined;
}

function npmScript(words: readonly string[]): string | undefined {
  return words[0] === "npm" && words[1] === "run" ? words[2] : undefined;
}

function commandLines(text: string): string[] {
  const blocks = codeBlocks(text).filter(({ language }) => SHELLS.has(language));
  const lines = blocks.flatMap(({ code }) => {
    const joined = code.replace(/\\\n\s*/g, " ").split("\n");
    const prompted = joined.filter((line) => /^\s*\$ /.test(line));
    return (prompted.length > 0 ? prompted : joined).map((line) => line.replace(/^\s*\$ /, ""));
  });
  const quoted = inlineCode(text).map((code) => code.replace(/\s+/g, " "));
  return [...lines, ...quoted.filter((code) => !PRINTED.test(code))];
}

export interface DocumentedCommands {
  /** Arguments of every gpulse command on the page. */
  readonly gpulse: readonly (readonly string[])[];
  /** Names of every npm script on the page. */
  readonly npmScripts: readonly string[];
}

export function findCommands(text: string): DocumentedCommands {
  const commands = commandLines(text).flatMap(shellWords);
  return {
    gpulse: commands.map(gpulseArgs).filter((args) => args !== undefined),
    npmScripts: commands.map(npmScript).filter((name) => name !== undefined),
  };
}

function findOption(command: Command, flag: string): Option | undefined {
  for (let at: Command | null = command; at !== null; at = at.parent) {
    const option = at.options.find((one) => [one.short, one.long].includes(flag));
    if (option !== undefined) return option;
  }
  return undefined;
}

/** What is wrong with a command line; undefined if the program accepts it. */
export function complaint(program: Command, args: readonly string[]): string | undefined {
  let command = program;
  let positionals = 0;
  for (let index = 0; index < args.length; index++) {
    const word = (args[index] ?? "").replace(/^\[|\]$/g, "");
    if (word === "--" || /^\d?[<>]/.test(word)) break;
    if (word === "…" || word === "..." || word === "-h" || word === "--help") continue;
    if (word.startsWith("-") && word !== "-") {
      const [flag = "", value] = word.split("=", 2);
      let option = findOption(command, flag);
      if (option === undefined && command === program) {
        command = program.commands.find((one) => one.name() === "up") ?? program;
        option = findOption(command, flag);
      }
      if (option === undefined) return `${command.name()} has no flag ${flag}`;
      if (option.required && value === undefined) {
        index++;
        if (args[index] === undefined) return `${flag} needs a value`;
      }
      continue;
    }
    const sub =
      positionals === 0
        ? command.commands.find((one) => one.name() === word || one.aliases().includes(word))
        : undefined;
    if (sub !== undefined) command = sub;
    else if (
      ++positionals > command.registeredArguments.length &&
      command.registeredArguments.at(-1)?.variadic !== true
    ) {
      return `${command.name()} knows no ${word}`;
    }
  }
  return undefined;
}
