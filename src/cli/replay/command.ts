/** `gpulse replay`: a recording again, at its own pace or another. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import { vendorChoice } from "../../model/vendor.ts";
import type { Finish } from "../program.ts";
import type { ReplayFlags } from "./options.ts";
import { addStreamFlags } from "../pipe/command.ts";

export function declareReplay(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("replay")
    .summary("give a recording again, at its own pace or another")
    .description(
      "Reads a GPU-Z log, a CSV of gpulse, Parquet or a recorded run, and gives its frames to sinks with their real spacing.",
    )
    .argument("<file>", "the recording, or a source such as gpuz:FILE")
    .option(
      "--speed <factor>",
      "2 is twice as fast, 0.5 half as fast, max waits for nothing (default: 1)",
    )
    .option("--loop", "begin again at the end; time goes on and never back")
    .option(
      "--start <time>",
      "from here on: a time, or how long after the first frame, such as 10m",
    )
    .option("--end <time>", "up to here")
    .option("--now", "frames get the time at which they are given, not the recorded one")
    .option("--gpu-name <name>", "of a GPU-Z log: which GPU it is of; a log does not say")
    .option("--vendor <name>", `of a GPU-Z log: ${vendorChoice}, where it is not known`)
    .option("--gpu <number>", "of a GPU-Z log: the GPU's number on that machine (default: 0)")
    .option("--uuid <text>", "of a GPU-Z log: the GPU's identity")
    .option(
      "--timezone <zone>",
      "of a GPU-Z log: zone of its local times (default: this machine's)",
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
