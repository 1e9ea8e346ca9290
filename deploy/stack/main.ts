// `npm run stack`: the command line of the native stack.

import { Command, InvalidArgumentError, Option } from "commander";

import { drill } from "./drill.ts";
import { report } from "./report.ts";
import { soak } from "./soak.ts";
import { up } from "./up.ts";

const DEFAULT_DATA = "./gpulse-data/stack";

interface Flags {
  readonly data: string;
  readonly ports: "usual" | "free";
  readonly without: readonly string[];
  readonly quick: boolean;
  readonly daySeconds: number;
  readonly duration?: number;
  readonly json: boolean;
}

interface ReportFlags extends Omit<Flags, "quick" | "duration"> {
  readonly out?: string;
  readonly start: boolean;
  readonly settle: number;
}

interface DrillFlags extends Omit<Flags, "duration"> {
  readonly only: readonly string[];
  readonly start: boolean;
}

interface SoakFlags extends Omit<Flags, "duration" | "quick"> {
  readonly minutes: number;
  readonly hours: number;
  readonly stepSeconds: number;
  readonly running: boolean;
}

function durationMs(text: string): number {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)(s|m|h|d)?$/.exec(text) ?? [];
  const seconds = { s: 1, m: 60, h: 3_600, d: 86_400 }[unit];
  if (amount === undefined || seconds === undefined)
    throw new InvalidArgumentError("write a time such as 90s, 10m or 2h.");
  return Number(amount) * seconds * 1000;
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0)
    throw new InvalidArgumentError("write a number above 0.");
  return value;
}

const collected = (name: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  name,
];

function withPlace(command: Command): Command {
  return command
    .option("--data <dir>", "where data, logs and the state file are kept", DEFAULT_DATA)
    .addOption(
      new Option("--ports <which>", "the ports people know, or free ones")
        .choices(["usual", "free"])
        .default("usual"),
    )
    .option("--without <name>", "leave a service out, repeatable", collected, [])
    .option("--day-seconds <seconds>", "how long a day of the load takes", positive, 600);
}

const program = new Command("stack")
  .description("The whole stack on this machine, with the real programs, on 127.0.0.1 alone.")
  .helpOption("-h, --help", "show help");

withPlace(program.command("up", { isDefault: true }))
  .description("start everything, show it in one table, start again what dies, stop all on Ctrl-C")
  .option("--duration <time>", "stop by itself after this long, such as 10m", durationMs)
  .option("--quick", "rules wait seconds instead of minutes", false)
  .option("--json", "changes as JSON lines", false)
  .addHelpText(
    "after",
    `
Examples:
  npm run stack                                  on the usual ports, until Ctrl-C
  npm run stack -- --ports free --data DIR       beside whatever else listens here
  npm run stack -- --without cadvisor --duration 10m
  npm run stack -- report --out stack.md         the state of the one that runs, as a document
  npm run stack -- drill --quick                 stop things and see alerts fire and heal`,
  )
  .action(async ({ data, duration, ...flags }: Flags) => {
    process.exitCode = await up({
      dataDir: data,
      ...flags,
      ...(duration === undefined ? {} : { durationMs: duration }),
    });
  });

withPlace(program.command("report"))
  .description("write the state of the running stack as a Markdown document")
  .option("--out <file>", "into a file instead of to stdout")
  .option("--json", "the numbers as JSON", false)
  .option("--start", "start a stack for it, and stop it afterwards", false)
  .option("--settle <time>", "how long that one collects first", durationMs, 120_000)
  .addHelpText(
    "after",
    `
Examples:
  npm run stack -- report --out stack.md
  npm run stack -- report --start --ports free --settle 5m --out stack.md`,
  )
  .action(async ({ data, settle, out, ...flags }: ReportFlags) => {
    process.exitCode = await report({
      dataDir: data,
      quick: false,
      settleMs: settle,
      ...flags,
      ...(out === undefined ? {} : { out }),
    });
  });

withPlace(program.command("drill"))
  .description(
    "stop Redis, PostgreSQL and the hub, pause the load: see alerts fire, arrive and end",
  )
  .option("--quick", "rules wait seconds instead of minutes while it lasts", false)
  .option("--only <names>", "some of redis,postgres,hub,idle", (text) => text.split(","), [])
  .option("--start", "start a stack for it, and stop it afterwards", false)
  .option("--json", "outcomes as JSON lines", false)
  .addHelpText(
    "after",
    `
Examples:
  npm run stack -- drill                     with the rules as shipped; a quarter of an hour
  npm run stack -- drill --quick             with waiting times of seconds
  npm run stack -- drill --quick --only redis,idle --start --ports free`,
  )
  .action(async ({ data, ...flags }: DrillFlags) => {
    process.exitCode = await drill({ dataDir: data, ...flags });
  });

withPlace(program.command("soak"))
  .description(
    "32 hours at accelerated virtual time, and real minutes: does anything grow, restart or miss a scrape?",
  )
  .option("--minutes <number>", "how many real minutes", positive, 10)
  .option("--hours <number>", "how many virtual hours", positive, 32)
  .option("--step-seconds <number>", "virtual time between two instants", positive, 10)
  .option("--running", "soak the stack that runs instead of one of its own", false)
  .option("--json", "the verdict as JSON", false)
  .addHelpText(
    "after",
    `
Examples:
  npm run stack -- soak --ports free
  npm run stack -- soak --minutes 60 --running`,
  )
  .action(async ({ data, ...flags }: SoakFlags) => {
    process.exitCode = await soak({ dataDir: data, quick: false, ...flags });
  });

// A terminal that was closed takes no more words; everything must still be stopped in order.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`stack: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
