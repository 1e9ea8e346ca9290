/** `gpulse check`: measures a free NVIDIA GPU under real load and verifies the results of its computations. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { CheckFlags } from "./run.ts";

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

export function declareCheck(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("check")
    .summary("load a free GPU: rates, bandwidths, memory, wrong results")
    .description(
      "Loads each free NVIDIA GPU for some seconds and measures bf16 tensor and FP32 rates and copy bandwidths, tests nearly all of its " +
        "memory, and compares products with known answers. Needs the driver only, no toolkit. Never starts on a GPU in use, stops " +
        "when another program starts to use it, and changes no clock, limit or mode. AMD and Intel GPUs are listed as unsupported.",
    )
    .option("--gpu <index|uuid>", "check this GPU (default: every NVIDIA GPU, one after another)")
    .option("--seconds <number>", "load on each GPU, 1 to 3600 (default: 20)")
    .option(
      "--only <tests>",
      "comma-separated: device_copy, host_to_device, device_to_host, fp32, tensor, products, memory (default: all)",
    )
    .option(
      "--self-test <number>",
      "flip one bit in each of this many short runs and report how many were found (default: off)",
    )
    .option("--deadline <duration>", "longest time a driver call may take (default: 10s)")
    .option("--cuda-library <file>", "the driver's CUDA library (default: libcuda.so.1)")
    .option("--nvml-library <file>", "the driver's NVML library (default: libnvidia-ml.so.1)")
    .option("--to <url>", "also send the results to this sink; repeatable", collect, [])
    .option("--json", "print JSON");
  addFlags(command, ["hostName", "config", "sysfs", "procfs"])
    .addHelpText(
      "after",
      `
Exit code: 0 every GPU passed, 1 wrong results or a GPU that failed, 3 slower than its reference, 4 not measured (in use,
stopped, unsupported, no GPU or driver), 2 usage. The worst of several GPUs counts: 1, then 3, then 4.

Examples:
  gpulse check                                  every free NVIDIA GPU, 20 s each
  gpulse check --gpu 0 --seconds 120 --json     one GPU for two minutes
  gpulse check --self-test 100                  prove on this GPU that one flipped bit is found
  gpulse check --to hub+http://hub:9410         store the results as gpu_check_* metrics`,
    )
    .action((flags: CheckFlags) =>
      finish(async () => (await import("./run.ts")).runCheck(flags, io)),
    );
}
