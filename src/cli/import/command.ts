/** `gpulse import`: history that others kept, brought into the hub. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { ImportFlags } from "./options.ts";
import { vendorChoice } from "../../model/vendor.ts";
import type { Finish } from "../program.ts";

export function declareImport(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("import")
    .summary("bring in GPU-Z logs, CSV, metrics as text, or a Prometheus")
    .description(
      "Reads files, or a Prometheus by its API, and writes their samples with their own times into a running hub, or\n" +
        "into a data folder that no hub has open. Says what it left out. One that was broken off goes on where it stopped.",
    )
    .argument("<file...>", "files, or prometheus+http://HOST:9090")
    .option("--url <url>", "the running hub (default: http://127.0.0.1:9410)")
    .option("--format <name>", "gpuz, csv, openmetrics or text, where it cannot be detected")
    .option("--label <name=value>", "set a label on every series, repeatable", collect)
    .option("--since <duration>", "from a Prometheus: how far back (default: 30d)")
    .option("--until <time>", "from a Prometheus: up to when (default: now)")
    .option("--match <selector>", "from a Prometheus: which series (default: all)")
    .option("--gpu-name <name>", "of a GPU-Z log: which GPU it is of; a log does not say")
    .option("--vendor <name>", `of a GPU-Z log: ${vendorChoice}, where it is not known`)
    .option("--gpu <number>", "of a GPU-Z log: the GPU's number on that machine (default: 0)")
    .option("--uuid <text>", "of a GPU-Z log: the GPU's identity")
    .option(
      "--timezone <zone>",
      "of a GPU-Z log: zone of its local times (default: this machine's)",
    )
    .option("--resume-file <file>", "where to remember how far it has come")
    .option("--dry-run", "read everything and write nothing")
    .option("--json", "print a summary for a program");
  addFlags(addClientFlags(command), ["data", "retention", "hostName", "config"])
    .addHelpText(
      "after",
      `
Examples:
  gpulse import 'GPU-Z Sensor Log.txt' --gpu-name 'GeForce RTX 4090' --timezone Europe/Berlin --host-name gaming-pc
  gpulse import power.csv                                    what gpulse query --csv printed
  gpulse import dump.om --data ./gpulse-data --retention 1y  straight into a folder no hub has open
  gpulse import prometheus+http://prometheus:9090 --since 30d --match '{__name__=~"gpu_.*"}'
  gpulse import *.csv --dry-run                              only say what is in them

Ends with 0 when all was kept, 1 when samples were refused or it was stopped, 2 when a file or an option is not understood.`,
    )
    .action((files: string[], flags: ImportFlags) =>
      finish(async () => (await import("./run.ts")).runImport(files, flags, io)),
    );
}

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];
