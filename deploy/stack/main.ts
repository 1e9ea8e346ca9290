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
    .option("--data <dir>", "folder for data, logs and the state file", DEFAULT_DATA)
    .addOption(
      new Option("--ports <which>", "the usual ports, or free ones")
        .choices(["usual", "free"])
        .default("usual"),
    )
    .option("--without <name>", "leave a service out; repeatable", collected, [])
    .option("--day-seconds <seconds>", "length of a day of the load", positive, 600);
}

const program = new Command("stack")
  .description("Runs the whole stack with the real programs on 127.0.0.1.")
  .helpOption("-h, --help", "show help");

withPlace(program.command("up", { isDefault: true }))
  .description("start all services, show them in a table, restart what crashes, stop on Ctrl-C")
  .option("--duration <time>", "stop after this time, such as 10m", durationMs)
  .option("--quick", "rules wait seconds instead of minutes", false)
  .option("--json", "print changes as JSON lines", false)
  .addHelpText(
    "after",
    `
Examples:
  npm run stack                                  on the usual ports, until Ctrl-C
  npm run stack -- --ports free --data DIR       on free ports, with another data folder
  npm run stack -- --without cadvisor --duration 10m
  npm run stack -- report --out stack.md         a report of the running stack
  npm run stack -- drill --quick                 stop services, see alerts fire and resolve`,
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
  .option("--out <file>", "write to a file instead of standard output")
  .option("--json", "print the numbers as JSON", false)
  .option("--start", "start a stack, and stop it afterwards", false)
  .option("--settle <time>", "time to collect data first", durationMs, 120_000)
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
    "stop Redis, PostgreSQL and the hub, pause the load: check that alerts fire, arrive and resolve",
  )
  .option("--quick", "rules wait seconds instead of minutes during the drill", false)
  .option("--only <names>", "some of redis,postgres,hub,idle", (text) => text.split(","), [])
  .option("--start", "start a stack, and stop it afterwards", false)
  .option("--json", "print results as JSON lines", false)
  .addHelpText(
    "after",
    `
Examples:
  npm run stack -- drill                     with the rules as shipped; about 15 minutes
  npm run stack -- drill --quick             with waiting times of seconds
  npm run stack -- drill --quick --only redis,idle --start --ports free`,
  )
  .action(async ({ data, ...flags }: DrillFlags) => {
    process.exitCode = await drill({ dataDir: data, ...flags });
  });

withPlace(program.command("soak"))
  .description(
    "run 32 hours in accelerated time, then real minutes: check for growth, restarts and missed scrapes",
  )
  .option("--minutes <number>", "number of real minutes", positive, 10)
  .option("--hours <number>", "number of virtual hours", positive, 32)
  .option("--step-seconds <number>", "virtual time between two instants", positive, 10)
  .option("--running", "use the running stack instead of starting one", false)
  .option("--json", "print the verdict as JSON", false)
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

// Writing to a closed terminal fails; everything must still be stopped in order.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`stack: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
