/** Runs a commander program: usage mistakes become one sentence and exit code 2, like every other mistake. */
import { Command, CommanderError } from "commander";
import { didYouMean } from "../config/closest.ts";

export function createProgram(version: string): Command {
  return new Command("gpulse")
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false, sortSubcommands: false })
    .configureOutput({ outputError: (text, write) => write(sentence(text)) });
}

/** The exit code of the run; 0 for --help and --version. */
export async function parseToExit(program: Command, argv: readonly string[]): Promise<number> {
  const [first] = argv;
  const names = program.commands.map((command) => command.name());
  // A default command would take the word for an argument of its own.
  if (first !== undefined && !first.startsWith("-") && ![...names, "help"].includes(first)) {
    const hint = didYouMean(first, names) || ` There are: ${names.join(", ")}.`;
    process.stderr.write(`gpulse: there is no command "${first}".${hint}\n`);
    return 2;
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    return thrown.exitCode === 0 ? 0 : 2;
  }
}

/** `error: unknown option '--prot'\n(Did you mean --port?)` in our own words' form. */
function sentence(text: string): string {
  const [first = "", second = ""] = text.trim().split("\n");
  const what = first.replace(/^error: /, "").replace(/\.$/, "");
  const tail =
    second === ""
      ? " Run it with --help to see what there is."
      : ` ${second.replace(/^\((.*)\)$/, "$1")}`;
  return `gpulse: ${what}.${tail}\n`;
}
