/** `gpulse import`: the history of other tools, imported into a hub. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { choice } from "../command/choice.ts";
import { addFlags } from "../command/flags.ts";
import { collect } from "../command/setting.ts";
import { importFormats } from "./detect.ts";
import type { CommandIo } from "../command/io.ts";
import type { ImportFlags } from "./options.ts";
import { vendors } from "../../model/vendor.ts";
import type { Finish } from "../program.ts";

export function declareImport(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("import")
    .summary("import GPU-Z logs, CSV, OpenMetrics files or a Prometheus")
    .description(
      "Reads files, or a Prometheus through its API, and writes the samples with their own timestamps to a running hub, or " +
        "to a data folder that no hub has open. Reports skipped samples. An interrupted import resumes where it stopped.",
    )
    .argument("<file...>", "files, or prometheus+http://HOST:9090")
    .option("--url <url>", "the running hub (default: http://127.0.0.1:9410)")
    .addOption(
      choice("--format <name>", "format of the files", importFormats.slice(0, 4), "by content"),
    )
    .option("--label <name=value>", "set a label on every series; repeatable", collect)
    .option("--since <duration>", "Prometheus: range that ends at --until (default: 30d)")
    .option("--until <time>", "Prometheus: end of the range (default: now)")
    .option("--match <selector>", "Prometheus: only series of this selector (default: all)")
    .option("--gpu-name <name>", "GPU-Z log: name of the GPU, which the log does not contain")
    .addOption(choice("--vendor <name>", "GPU-Z log: vendor of the GPU", vendors, "by its name"))
    .option("--gpu <number>", "GPU-Z log: index of the GPU (default: 0)")
    .option("--uuid <text>", "GPU-Z log: UUID of the GPU (default: made from host and name)")
    .option("--timezone <zone>", "GPU-Z log: time zone of its timestamps (default: this machine's)")
    .option(
      "--resume-file <file>",
      "file that stores how far the import is (default: beside --data, or in the user's state folder)",
    )
    .option("--dry-run", "read the files and write nothing")
    .option("--json", "print JSON");
  addFlags(addClientFlags(command), ["data", "retention", "hostName", "config"])
    .addHelpText(
      "after",
      `
Examples:
  gpulse import 'GPU-Z Sensor Log.txt' --gpu-name 'GeForce RTX 4090' --timezone Europe/Berlin --host-name gaming-pc
  gpulse import power.csv                                    output of gpulse query --csv
  gpulse import dump.om --data ./gpulse-data --retention 1y  into a data folder that no hub has open
  gpulse import prometheus+http://prometheus:9090 --since 30d --match '{__name__=~"gpu_.*"}'
  gpulse import *.csv --dry-run                              report the contents, write nothing

Exit code: 0 if all samples were stored, 1 if samples were rejected or it was interrupted, 2 if a file or option is not valid.`,
    )
    .action((files: string[], flags: ImportFlags) =>
      finish(async () => (await import("./run.ts")).runImport(files, flags, io)),
    );
}
