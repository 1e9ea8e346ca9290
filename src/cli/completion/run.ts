/** Runs `gpulse completion`. */
import type { Command } from "commander";
import type { ComponentDefinition } from "../../config/component.ts";
import { sinks } from "../../sinks/list.ts";
import { sources } from "../../sources/list.ts";
import { bashScript } from "./bash.ts";
import type { Shell } from "./command.ts";
import { fishScript } from "./fish.ts";
import { type CommandNode, commandTree, type OptionNode } from "./tree.ts";
import { zshScript } from "./zsh.ts";

const scripts: Readonly<Record<Shell, (tree: CommandNode) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export const completionScript = (shell: Shell, program: Command): string =>
  scripts[shell](withSchemes(commandTree(program)));

/** `kafka://` if a host follows, `sim:` otherwise. */
const schemesOf = (components: readonly ComponentDefinition[]): string[] =>
  components.map(({ name, examples }) =>
    examples.some(({ url }) => url.startsWith(`${name}://`)) ? `${name}://` : `${name}:`,
  );

const sourceWords = ["auto", "none", ...schemesOf(sources)];
const sinkWords = schemesOf(sinks);

/** Adds the schemes of sources and sinks, which the command declarations do not load. */
function withSchemes(node: CommandNode): CommandNode {
  return {
    ...node,
    options: node.options.map(withOptionSchemes),
    commands: node.commands.map(withSchemes),
  };
}

function withOptionSchemes(option: OptionNode): OptionNode {
  if (option.value !== "url") return option;
  const words = option.names.some((name) => name === "--source" || name === "--from")
    ? sourceWords
    : option.names.includes("--to")
      ? sinkWords
      : undefined;
  return words === undefined ? option : { ...option, takes: { kind: "words", words } };
}
