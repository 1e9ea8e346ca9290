/** The command tree for completions and man pages, read from commander's declarations. */
import type { Argument, Command, Option } from "commander";

/** The values an option or argument accepts. */
export type ValueKind =
  | { readonly kind: "file" | "folder" | "command" | "text" }
  | { readonly kind: "words"; readonly words: readonly string[] };

export interface OptionNode {
  /** `-f` and `--file`. */
  readonly names: readonly string[];
  /** The name of the value, such as `duration`; absent if the option takes none. */
  readonly value?: string;
  /** True if the value is optional. */
  readonly isOptional: boolean;
  readonly isRepeatable: boolean;
  readonly help: string;
  readonly takes: ValueKind;
}

export interface ArgumentNode {
  readonly name: string;
  readonly isRequired: boolean;
  readonly isVariadic: boolean;
  readonly help: string;
  readonly takes: ValueKind;
}

export interface CommandNode {
  /** The command names after `gpulse`; empty for gpulse itself. */
  readonly path: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly options: readonly OptionNode[];
  readonly arguments: readonly ArgumentNode[];
  readonly commands: readonly CommandNode[];
  /** What `--help` prints after the options: examples, exit codes, variables. */
  readonly notes: string;
}

const fileNames = new Set(["file", "files", "before", "after", "run"]);
const folderNames = new Set(["dir", "folder"]);

function kindOf(name: string, words: readonly string[] | undefined): ValueKind {
  if (words !== undefined) return { kind: "words", words };
  if (fileNames.has(name)) return { kind: "file" };
  if (folderNames.has(name)) return { kind: "folder" };
  return { kind: name === "command" ? "command" : "text" };
}

function optionNode(option: Option): OptionNode {
  const value = /[<[]([^\].>]+)(?:\.{3})?[\]>]/.exec(option.flags)?.[1];
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    ...(value !== undefined && { value }),
    isOptional: option.optional,
    isRepeatable: option.parseArg !== undefined || option.variadic,
    help: option.description,
    takes: kindOf(value ?? "", option.argChoices),
  };
}

const argumentNode = (argument: Argument): ArgumentNode => ({
  name: argument.name(),
  isRequired: argument.required,
  isVariadic: argument.variadic,
  help: argument.description,
  takes: kindOf(argument.name(), argument.argChoices),
});

export function commandTree(command: Command, path: readonly string[] = []): CommandNode {
  const help = command.createHelp();
  return {
    path,
    summary: command.summary() || command.description(),
    description: command.description(),
    options: help.visibleOptions(command).map(optionNode),
    arguments: command.registeredArguments.map(argumentNode),
    commands: command.commands.map((child) => commandTree(child, [...path, child.name()])),
    notes: notesOf(command),
  };
}

/** Captures the help text, at a width without wrapping. */
function notesOf(command: Command): string {
  let text = "";
  const output = command.configureOutput();
  command.configureOutput({ ...output, writeOut: (piece) => (text += piece) });
  command.outputHelp();
  command.configureOutput(output);
  return text.slice(command.helpInformation().length).trim();
}

/** The command and all its descendants. */
export const everyCommand = (node: CommandNode): CommandNode[] => [
  node,
  ...node.commands.flatMap(everyCommand),
];
