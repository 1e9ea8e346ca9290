/** `gpulse pipe`: any source to any sinks, or a whole pipeline from one file. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import { addOutboundFlags } from "../command/outbound.ts";
import type { CommandIo } from "../command/io.ts";
import type { PipeFlags } from "./run.ts";
import type { Finish } from "../program.ts";

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];

/** What every command that carries a stream takes. */
export function addStreamFlags(command: Command): Command {
  command
    .option("--to <url>", "a sink; repeatable (default: stdout:)", collect)
    .option("--for <duration>", "stop after this long")
    .option(
      "--checkpoint <duration>",
      "how often sources get an acknowledgement of what is stored (default: 5s)",
    )
    .option("--checkpoint-frames <number>", "or after so many frames (default: 10000)")
    .option("--grace <duration>", "how long the last checkpoint may take (default: 10s)")
    .option("--processing <file>", "limits, tags, columns and windows in YAML")
    .option("--threshold <tag=limit>", "another limit of a usual tag, or off; repeatable", collect)
    .option("--tag <name=condition>", "a tag of your own; repeatable", collect);
  return addFlags(addOutboundFlags(command), [
    "port",
    "host",
    "hostName",
    "data",
    "config",
    "logLevel",
  ]);
}

export function declarePipe(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("pipe")
    .summary("carry frames from any source to any sinks, at least once")
    .description(
      "Runs sources into sinks until their data ends, the time is over, or it is stopped. A frame is acknowledged to its source\n" +
        "only when every sink has stored it, so a kill loses nothing. With --port its own metrics are served on loopback.",
    )
    .option("--from <url>", "a source; repeatable", collect)
    .option("--until-idle <duration>", "end when nothing came for this long")
    .option("-f, --file <file>", "run the stages of a pipeline file")
    .option("--stage <name>", "of a pipeline file: this stage alone; repeatable", collect)
    .option(
      "--state <file>",
      "of a pipeline file: which stages are done (default: FILE.state.json)",
    )
    .option("--again", "of a pipeline file: forget what is done");
  addFlags(addStreamFlags(command), ["interval", "sysfs", "procfs"])
    .addHelpText(
      "after",
      `
Examples:
  gpulse pipe --from sim:2 --for 10s                     live frames as JSON lines
  gpulse pipe --from 'kafka://localhost:9092/gpu-metrics?group=lake' --to parquet:./lake --port 9420
                                                         a topic into a lake; run it twice to share the work
  gpulse pipe --from gpuz:sensors.txt --tag "hot=gpu_temperature > 90 or board_power > 350"
                                                         a log with a tag of your own
  gpulse pipe -f pipeline.yaml                           upload, replay, consume, store and analyse in one
  gpulse pipe -f pipeline.yaml --stage replay            one stage of it

Ends with 0 when everything that came is stored, 1 when a sink can never store something or it was stopped before it had.`,
    )
    .action((flags: PipeFlags) =>
      finish(async () => (await import("./run.ts")).runPipe(flags, io)),
    );
}
