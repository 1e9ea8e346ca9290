/** The completion script for bash 3.2 and newer, with or without the bash-completion package. Pure. */
import { type CommandNode, everyCommand, type OptionNode, type ValueKind } from "./tree.ts";

export function bashScript(tree: CommandNode): string {
  const commands = everyCommand(tree);
  return `# bash completion for gpulse: source <(gpulse completion bash)

# The words after the command name up to the cursor, split at blanks only: COMP_WORDS is split at ":" and "=" too.
_gpulse() {
  local line="\${COMP_LINE:0:COMP_POINT}" cur="" prev="" path="" takes="" words="" word at
  local -a typed
  read -ra typed <<< "$line"
  [[ "$line" == *[[:blank:]] ]] && typed+=("")
  COMPREPLY=()
  for ((at = 1; at < \${#typed[@]} - 1; at++)); do
    word="\${typed[at]}"
    if [[ "$word" == "--" ]]; then
      if [[ "$path" == "run" ]]; then
        cur="\${typed[\${#typed[@]} - 1]}"
        if ((at == \${#typed[@]} - 2)); then COMPREPLY=($(compgen -c -- "$cur")); else _gpulse_paths default -f; fi
      fi
      return
    fi
    if [[ "$word" == -* ]]; then
      [[ "$word" != *=* ]] && _gpulse_takes "$path" "$word" && ((at++))
    elif [[ " $(_gpulse_commands "$path") " == *" $word "* ]]; then
      path="\${path:+$path }$word"
    fi
  done
  cur="\${typed[\${#typed[@]} - 1]}"
  prev="\${typed[\${#typed[@]} - 2]}"
  if [[ "$cur" == --*=* ]]; then
    prev="\${cur%%=*}"
    cur="\${cur#*=}"
  fi
  if [[ "$prev" == -* ]] && _gpulse_takes "$path" "$prev"; then
    :
  elif [[ "$cur" == -* ]]; then
    takes="words"
    words="$(_gpulse_options "$path")"
  else
    _gpulse_arguments "$path"
    words="$(_gpulse_commands "$path") $words"
    [[ "$takes" == "" || "$takes" == "text" ]] && takes="words"
  fi
  case "$takes" in
    file) _gpulse_paths default -f ;;
    folder) _gpulse_paths dirnames -d ;;
    command) COMPREPLY=($(compgen -c -- "$cur")) ;;
    words) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
  esac
  # bash replaces only what stands behind the last ":" of the word.
  if [[ "$cur" == *:* && "$COMP_WORDBREAKS" == *:* ]]; then
    for at in "\${!COMPREPLY[@]}"; do COMPREPLY[at]="\${COMPREPLY[at]#"\${cur%"\${cur##*:}"}"}"; done
  fi
  if [[ \${#COMPREPLY[@]} -eq 1 && "\${COMPREPLY[0]}" == *[:/] ]]; then compopt -o nospace 2> /dev/null; fi
  return 0
}

# Readline's own completion of paths quotes and expands them; bash 3.2 cannot switch to it.
_gpulse_paths() {
  compopt -o "$1" 2> /dev/null || COMPREPLY=($(compgen "$2" -- "$cur"))
}

_gpulse_commands() {
  case "$1" in
${commands
  .filter((command) => command.commands.length > 0)
  .map((command) => arm([pathOf(command)], `echo ${quote(names(command.commands))}`))
  .join("\n")}
  esac
}

_gpulse_options() {
  case "$1" in
${commands
  .map((command) => arm([pathOf(command)], `echo ${quote(optionsOf(tree, command).join(" "))}`))
  .join("\n")}
  esac
}

# Sets what the value of an option may be; fails where the option takes none.
_gpulse_takes() {
  case "$1 $2" in
${armsByKind(
  commands.flatMap((command) =>
    optionList(tree, command)
      .filter(({ value }) => value !== undefined)
      .flatMap(({ names: flags, takes }) =>
        flags.map((flag) => [`${pathOf(command)} ${flag}`, takes] as const),
      ),
  ),
)}
    *) return 1 ;;
  esac
}

_gpulse_arguments() {
  case "$1" in
${armsByKind(
  commands.flatMap((command) =>
    command.arguments.slice(0, 1).map(({ takes }) => [pathOf(command), takes] as const),
  ),
)}
  esac
}

complete -F _gpulse gpulse
`;
}

const pathOf = ({ path }: CommandNode): string => path.join(" ");
const names = (commands: readonly CommandNode[]): string =>
  commands.map(({ path }) => path.at(-1)).join(" ");

/** gpulse without a command is `gpulse up`, so it accepts the same options. */
export function optionList(tree: CommandNode, command: CommandNode): readonly OptionNode[] {
  if (command !== tree) return command.options;
  const up = tree.commands.find(({ path }) => path[0] === "up");
  const own = new Set(tree.options.flatMap(({ names: flags }) => flags));
  return [
    ...tree.options,
    ...(up?.options ?? []).filter(({ names: flags }) => !flags.some((flag) => own.has(flag))),
  ];
}

const optionsOf = (tree: CommandNode, command: CommandNode): string[] =>
  optionList(tree, command).flatMap(({ names: flags }) => flags);

/** One `case` branch for all patterns that take the same values. */
function armsByKind(entries: readonly (readonly [pattern: string, ValueKind])[]): string {
  const byBody = new Map<string, string[]>();
  for (const [pattern, takes] of entries) {
    const body =
      takes.kind === "words"
        ? `takes=words words=${quote(takes.words.join(" "))}`
        : `takes=${takes.kind}`;
    byBody.set(body, [...(byBody.get(body) ?? []), pattern]);
  }
  return [...byBody].map(([body, patterns]) => arm(patterns, body)).join("\n");
}

const arm = (patterns: readonly string[], body: string): string =>
  `    ${patterns.map((pattern) => `"${pattern}"`).join(" | ")}) ${body} ;;`;

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
