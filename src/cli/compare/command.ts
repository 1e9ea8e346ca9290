/** `gpulse compare`: compares recorded runs, or parts of a hub's history. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import { collect } from "../command/setting.ts";
import type { CompareFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareCompare(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("compare")
    .summary("compare runs, GPUs, hosts or times with statistical tests")
    .description(
      "Compares recorded runs (two .gpulserun files, or more, where files with the same label are repeats), or GPUs, hosts and times of a hub's " +
        "history. Reports which metrics differ, which do not, and which need more data; refuses subjects that are not comparable.",
    )
    .argument("[files...]", "run files")
    .option(
      "--group <name=files>",
      "treat these files as repeats of one subject; * and ? match file names; repeatable",
      collect,
    )
    .option(
      "--gpu <uuid>",
      "a GPU of the hub; UUID@-24h or UUID@TIME shifts the range, UUID@HOST names the host; repeatable (default: none)",
      collect,
    )
    .option(
      "--host <name>",
      "a host of the hub, with the same suffixes; repeatable (default: none)",
      collect,
    )
    .option("--since <duration>", "range that ends now (default: 1h)")
    .option(
      "--from <time>",
      "start of the range, as RFC 3339 or Unix seconds (default: --since before the end)",
    )
    .option("--to <time>", "end of the range (default: now)")
    .option(
      "--work-query <promql>",
      "PromQL for work per second with a uuid or host label (default: the simulator's work counter)",
    )
    .option("--unit <name>", "unit of the work (default: units)")
    .option(...hubUrlOption)
    .option("--html <file>", "write a report with charts as one HTML file")
    .option("--markdown [file]", "print Markdown, or write it to a file")
    .option("--json [file]", "print JSON, or write it to a file")
    .option("--csv [file]", "print CSV with one line per metric and subject, or write it to a file")
    .option("--all-repeats", "leave out no repeat as warm-up (default: leave it out and report it)")
    .option("--strict", "exit with 1 if a comparison was refused or has a warning")
    .addHelpText(
      "after",
      `
Examples:
  gpulse compare before.gpulserun after.gpulserun
  gpulse compare a1.gpulserun a2.gpulserun a3.gpulserun b1.gpulserun b2.gpulserun b3.gpulserun --html report.html
  gpulse compare --group 'old driver=old-*.gpulserun' --group 'new driver=new-*.gpulserun'
  gpulse compare --gpu UUID --gpu UUID --since 1h --work-query 'rate(my_images_total[1m])' --unit images
  gpulse compare --gpu UUID --gpu UUID@-24h --since 2h --markdown`,
    )
    .action((files: readonly string[], flags: CompareFlags) =>
      finish(async () => (await import("./run.ts")).runCompare(files, flags, io)),
    );
  addClientFlags(command);
}
