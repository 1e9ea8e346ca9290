/** Runs a commander program: usage errors become one sentence and exit code 2, like all other mistakes. */
import { Command, CommanderError } from "commander";
import { buildCommit } from "../../base/build-info.ts";
import { didYouMean } from "../../config/closest.ts";

export function createProgram(version: string): Command {
  const line = `gpulse ${version} (commit ${buildCommit()}, node ${process.version})`;
  return new Command("gpulse")
    .version(line, "-v, --version", "print version, commit and Node version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show the help of a command")
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureHelp({
      showGlobalOptions: false,
      sortSubcommands: false,
      // The descriptions contain the values and defaults.
      optionDescription: ({ description }) => description,
      argumentDescription: ({ description, defaultValue }) =>
        defaultValue === undefined ? description : `${description} (default: ${defaultValue})`,
    })
    .configureOutput({ outputError: (text, write) => write(sentence(text)) });
}

/** The exit code of the run; 0 for --help and --version. */
export async function parseToExit(program: Command, argv: readonly string[]): Promise<number> {
  const [first] = argv;
  // Commander prints the help of a parent, without an error, if `help` is followed by an unknown or a nested name.
  const asked = helpTopic(program, argv);
  if (asked !== undefined) return showHelp(program, asked);
  // Otherwise a default command would treat the word as its own argument.
  if (first !== undefined && !first.startsWith("-") && childOf(program, first) === undefined)
    return unknownCommand(program, first);
  try {
    await program.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    return thrown.exitCode === 0 ? 0 : 2;
  }
}

/** The topic of a help request: of `help user enable` and of `user help enable`. */
function helpTopic(program: Command, argv: readonly string[]): readonly string[] | undefined {
  const at = argv.indexOf("help");
  const before = argv.slice(0, Math.max(at, 0));
  let parent: Command | undefined = program;
  for (const name of before) parent = parent && childOf(parent, name);
  const isGroup = parent !== undefined && parent.commands.length > 0;
  return at === -1 || !isGroup ? undefined : [...before, ...argv.slice(at + 1)];
}

function showHelp(program: Command, topic: readonly string[]): number {
  let command = program;
  for (const name of topic.filter((word) => !word.startsWith("-"))) {
    const child = childOf(command, name);
    if (child === undefined) return unknownCommand(command, name);
    command = child;
  }
  command.outputHelp();
  return 0;
}

function unknownCommand(parent: Command, name: string): number {
  const names = parent.commands.map((command) => command.name());
  const list = names.length === 0 ? "" : ` Commands: ${names.join(", ")}.`;
  const where = parent.parent === null ? "command" : `command of gpulse ${parent.name()}`;
  process.stderr.write(
    `gpulse: there is no ${where} "${name}".${didYouMean(name, names) || list}\n`,
  );
  return 2;
}

function childOf(parent: Command, name: string): Command | undefined {
  return parent.commands.find((command) => command.name() === name);
}

/** Rewrites `error: unknown option '--prot'\n(Did you mean --port?)` in gpulse's message format. */
function sentence(text: string): string {
  const [first = "", second = ""] = text.trim().split("\n");
  const what = first.replace(/^error: /, "").replace(/\.$/, "");
  const tail =
    second === ""
      ? " Run the command with --help to see its options."
      : ` ${second.replace(/^\((.*)\)$/, "$1")}`;
  return `gpulse: ${what}.${tail}\n`;
}
