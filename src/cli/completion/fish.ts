/** The completion script for fish: one `complete` line per command, option and argument. Pure. */
import { optionList } from "./bash.ts";
import { type CommandNode, everyCommand, type OptionNode, type ValueKind } from "./tree.ts";

export function fishScript(tree: CommandNode): string {
  const commands = everyCommand(tree);
  return `# fish completion for gpulse: gpulse completion fish | source

# The command before the cursor, such as "silence add"; options and their values are skipped.
function __gpulse_path
    set -l words (commandline -opc)[2..]
    set -l path
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        switch $word
            case '--'
                break
            case '-*=*'
            case '-*'
                if __gpulse_takes_value "$path $word"
                    set -e words[1]
                end
            case '*'
                if contains -- "$path $word" ${commands
                  .filter(({ path }) => path.length > 0)
                  .map(({ path }) => quote(`${path.slice(0, -1).join(" ")} ${path.at(-1)}`))
                  .join(" ")}
                    set path (string trim -- "$path $word")
                end
        end
    end
    echo $path
end

function __gpulse_at
    test (__gpulse_path) = "$argv"
end

function __gpulse_takes_value
    contains -- $argv[1] ${commands
      .flatMap((command) =>
        optionList(tree, command)
          .filter(({ value, isOptional }) => value !== undefined && !isOptional)
          .flatMap(({ names }) => names.map((name) => quote(`${command.path.join(" ")} ${name}`))),
      )
      .join(" ")}
end

complete -c gpulse -f
${commands.flatMap((command) => linesOf(tree, command)).join("\n")}
`;
}

function linesOf(tree: CommandNode, command: CommandNode): string[] {
  const at = `complete -c gpulse -n ${quote(`__gpulse_at ${command.path.join(" ")}`)}`;
  return [
    ...command.commands.map(({ path, summary }) => `${at} -a ${path.at(-1)} -d ${quote(summary)}`),
    ...command.arguments.slice(0, 1).flatMap(({ takes }) => {
      const values = valuesOf(takes);
      return values === "" ? [] : [`${at}${values.replace("-r ", "").replace("-x ", "")}`];
    }),
    ...optionList(tree, command).map((option) => `${at}${optionWords(option)}`),
  ];
}

function optionWords({ names, value, isOptional, help, takes }: OptionNode): string {
  const flags = names
    .map((name) => (name.startsWith("--") ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`))
    .join("");
  const values = value === undefined || isOptional ? "" : valuesOf(takes) || " -x";
  return `${flags} -d ${quote(help.replaceAll("\n", " "))}${values}`;
}

function valuesOf(takes: ValueKind): string {
  switch (takes.kind) {
    case "file":
      return " -r -F";
    case "folder":
      return " -x -a '(__fish_complete_directories)'";
    case "command":
      return " -F -a '(complete -C (commandline -ct))'";
    case "words":
      return ` -x -a ${quote(takes.words.join(" "))}`;
    case "text":
      return "";
  }
}

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
