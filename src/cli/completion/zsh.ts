/** The completion script for zsh: one function per command, built from _arguments specs. Pure. */
import { optionList } from "./bash.ts";
import {
  type ArgumentNode,
  type CommandNode,
  everyCommand,
  type OptionNode,
  type ValueKind,
} from "./tree.ts";

export function zshScript(tree: CommandNode): string {
  return `#compdef gpulse
# zsh completion for gpulse: source <(gpulse completion zsh)

_gpulse_schemes() {
  compadd -S '' -- "$@"
}

${everyCommand(tree)
  .map((command) => commandFunction(tree, command))
  .join("\n")}
if [[ "$funcstack[1]" == "_gpulse" ]]; then
  _gpulse "$@"
else
  compdef _gpulse gpulse
fi
`;
}

const functionOf = ({ path }: CommandNode): string => ["_gpulse", ...path].join("__");

function commandFunction(tree: CommandNode, command: CommandNode): string {
  const specs = optionList(tree, command).map(optionSpec);
  if (command.commands.length === 0) {
    const all = [...specs, ...command.arguments.map(argumentSpec)];
    return `${functionOf(command)}() {\n  _arguments -s -S : \\\n${lines(all)}\n}\n`;
  }
  return `${functionOf(command)}() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -s -S -C : \\
${lines([...specs, quote("1: :->command"), quote("*:: :->arguments")])} && return
  case "$state" in
    command)
      local -a commands=(
${command.commands.map(({ path, summary }) => `        ${quote(`${path.at(-1)}:${summary}`)}`).join("\n")}
      )
      _describe -t commands 'command' commands
      ;;
    arguments)
      case "$line[1]" in
${command.commands.map((child) => `        ${child.path.at(-1)}) ${functionOf(child)} ;;`).join("\n")}
      esac
      ;;
  esac
}
`;
}

const lines = (specs: readonly string[]): string =>
  specs.map((spec) => `    ${spec}`).join(" \\\n");

/** `'(-f --file)'{-f,--file}'[help]:file:_files'`. */
function optionSpec({ names, value, isOptional, isRepeatable, help, takes }: OptionNode): string {
  const explanation = `[${help.replaceAll(/[\\[\]]/g, "\\$&").replaceAll("\n", " ")}]`;
  const action =
    value === undefined ? "" : `:${isOptional ? ":" : ""}${escapeColons(value)}:${actionOf(takes)}`;
  const tail = quote(`${explanation}${action}`);
  const [first = "", ...others] = names;
  if (others.length === 0) return quote(`${isRepeatable ? "*" : ""}${first}`) + tail;
  const prefix = isRepeatable ? "*" : `(${names.join(" ")})`;
  return `${quote(prefix)}{${names.join(",")}}${tail}`;
}

function argumentSpec({ name, isRequired, isVariadic, takes }: ArgumentNode): string {
  const position = isVariadic ? "*" : "";
  // "::" after "*" delegates the rest of the command line to the completion of that command.
  const separator = takes.kind === "command" || !(isVariadic || isRequired) ? "::" : ":";
  // A plain message would prevent zsh from completing an option here.
  const action = takes.kind === "text" ? `_guard "^-*" ${name}` : actionOf(takes);
  return quote(`${position}${separator}${escapeColons(name)}:${action}`);
}

function actionOf(takes: ValueKind): string {
  switch (takes.kind) {
    case "file":
      return "_files";
    case "folder":
      return "_files -/";
    case "command":
      return "_normal";
    case "words":
      return takes.words.some((word) => word.includes(":"))
        ? `_gpulse_schemes ${takes.words.map(escapeColons).join(" ")}`
        : `(${takes.words.join(" ")})`;
    case "text":
      return " ";
  }
}

const escapeColons = (text: string): string => text.replaceAll(":", "\\:");
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
