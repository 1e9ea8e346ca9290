/** `gpulse replay`: sends a recording to sinks, at its original speed or another. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import { vendors } from "../../model/vendor.ts";
import { choice } from "../command/choice.ts";
import type { Finish } from "../program.ts";
import type { ReplayFlags } from "./options.ts";
import { addStreamFlags } from "../pipe/command.ts";

export function declareReplay(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("replay")
    .summary("replay a recording into sinks, at its own speed or another")
    .description(
      "Reads a GPU-Z log, a gpulse CSV, Parquet or a recorded run, and sends its frames to sinks with their original timing.",
    )
    .argument("<file>", "recording, or a source such as gpuz:FILE")
    .option(
      "--speed <factor>",
      "2 is twice as fast, 0.5 half as fast, max does not wait (default: 1)",
    )
    .option("--loop", "start over at the end; timestamps continue to increase")
    .option(
      "--start <time>",
      "start at this time, or this long after the first frame, such as 10m (default: the first frame)",
    )
    .option("--end <time>", "stop at this time, in the same form (default: the last frame)")
    .option("--now", "use the current time as the timestamp of each frame")
    .option("--gpu-name <name>", "GPU-Z log: name of the GPU, which the log does not contain")
    .addOption(choice("--vendor <name>", "GPU-Z log: vendor of the GPU", vendors, "by its name"))
    .option("--gpu <number>", "GPU-Z log: index of the GPU (default: 0)")
    .option("--uuid <text>", "GPU-Z log: UUID of the GPU (default: made from host and name)")
    .option(
      "--timezone <zone>",
      "GPU-Z log: time zone of its timestamps (default: this machine's)",
    );
  addStreamFlags(command)
    .addHelpText(
      "after",
      `
Examples:
  gpulse replay 'GPU-Z Sensor Log.txt' --to kafka://localhost:9092/gpu-metrics --speed 2 --loop
  gpulse replay sensors.txt --gpu-name 'GeForce RTX 4090' --now --to hub+http://127.0.0.1:9410
  gpulse replay lake/gpu/date=2026-01-31 --speed max --start 10m --end 20m`,
    )
    .action((file: string, flags: ReplayFlags) =>
      finish(async () => (await import("./run.ts")).runReplay(file, flags, io)),
    );
}
