/** `gpulse pipe`: connects any source to any sinks, or runs a pipeline from a file. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import { addOutboundFlags } from "../command/outbound.ts";
import { collect } from "../command/setting.ts";
import type { CommandIo } from "../command/io.ts";
import type { PipeFlags } from "./run.ts";
import type { Finish } from "../program.ts";

/** The options of every command that runs a pipe. */
export function addStreamFlags(command: Command): Command {
  command
    .option("--to <url>", "send frames to this sink; repeatable (default: stdout:)", collect)
    .option("--for <duration>", "stop after this time (default: when the sources end)")
    .option(
      "--checkpoint <duration>",
      "how often to acknowledge stored frames to the sources (default: 5s)",
    )
    .option(
      "--checkpoint-frames <number>",
      "acknowledge after this many frames at the latest (default: 50000)",
    )
    .option("--grace <duration>", "time limit of the last checkpoint (default: 10s)")
    .option("--processing <file>", "YAML file with limits, tags, columns and windows")
    .option("--threshold <tag=limit>", "limit of a built-in tag, or off; repeatable", collect)
    .option("--tag <name=condition>", "add a tag; repeatable", collect)
    .option("--port <number>", "serve the metrics of this pipe on this port (default: none)")
    .option("--host <address>", "listen on this address (default: 127.0.0.1)")
    .option("--json", "print a summary as JSON at the end; not with --to stdout:");
  return addFlags(addOutboundFlags(command), ["hostName", "data", "config", "logLevel"]);
}

export function declarePipe(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("pipe")
    .summary("send frames from any source to any sinks, at least once")
    .description(
      "Sends frames from sources to sinks until the sources end, the time is over, or it is stopped. Acknowledges a frame to " +
        "its source only after every sink has stored it, so a kill loses nothing. Serves its own metrics with --port.",
    )
    .option("--from <url>", "read from this source; repeatable", collect)
    .option(
      "--until-idle <duration>",
      "stop after this time without data, with nothing unread or unstored (default: never)",
    )
    .option("-f, --file <file>", "run the stages of a pipeline file")
    .option("--stage <name>", "pipeline file: run only this stage; repeatable", collect)
    .option(
      "--state <file>",
      "pipeline file: where to store finished stages (default: FILE.state.json)",
    )
    .option("--again", "pipeline file: run finished stages again");
  addFlags(addStreamFlags(command), ["interval", "sysfs", "procfs"])
    .addHelpText(
      "after",
      `
Examples:
  gpulse pipe --from sim:2 --for 10s                     frames as JSON lines
  gpulse pipe --from 'kafka://localhost:9092/gpu-metrics?group=lake' --to parquet:./lake --port 9420
                                                         a Kafka topic into a lake; start it twice to share the load
  gpulse pipe --from gpuz:sensors.txt --tag "hot=gpu_temperature > 90 or board_power > 350"
                                                         a log with another tag
  gpulse pipe -f pipeline.yaml                           upload, replay, consume, store and analyse
  gpulse pipe -f pipeline.yaml --stage replay            only one stage

Exit code: 0 if every frame was stored, 1 if a sink rejected frames or it was stopped before they were stored.`,
    )
    .action((flags: PipeFlags) =>
      finish(async () => (await import("./run.ts")).runPipe(flags, io)),
    );
}
