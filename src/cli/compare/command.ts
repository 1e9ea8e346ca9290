/** `gpulse compare`: recorded runs, or what a hub has watched, side by side. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { CompareFlags } from "./run.ts";
import type { Finish } from "../program.ts";

const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];

export function declareCompare(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("compare")
    .summary("set runs, GPUs, hosts or times side by side: what differs, and how sure that is")
    .description(
      "Compares recorded runs (.gpulserun files; those of one label are repeats of one subject), or GPUs, hosts and times of\n" +
        "a hub's history. Says which differences are real, which metrics do not differ, and what cannot be decided\nyet, and refuses what is not alike.",
    )
    .argument("[files...]", "run files")
    .option(
      "--group <name=files>",
      "these files are repeats of one subject; * and ? work in a file's name",
      collect,
    )
    .option(
      "--gpu <uuid>",
      "a GPU of the hub; UUID@-24h or UUID@TIME is the same length of another time, UUID@HOST the GPU of that host",
      collect,
    )
    .option("--host <name>", "a host of the hub, likewise", collect)
    .option("--since <duration>", "how far back the history is compared (default: 1h)")
    .option("--from <time>", "start of the range instead, as RFC 3339 or Unix seconds")
    .option("--to <time>", "its end (default: now)")
    .option(
      "--work-query <promql>",
      "work per second with a uuid (or host) label; without it the simulator's own work counter, and n/a for real GPUs",
    )
    .option("--unit <name>", "what the work query counts (default: units)")
    .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
    .option("--html <file>", "write a report with charts, all in one file")
    .option("--markdown [file]", "print, or write, Markdown")
    .option("--json [file]", "print, or write, everything as JSON")
    .option("--csv [file]", "print, or write, one line a metric and subject")
    .option("--strict", "exit with 1 where anything was refused or warned of")
    .addHelpText(
      "after",
      `
Examples:
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
