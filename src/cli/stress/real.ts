/** `gpulse stress` on a real NVIDIA GPU: the tensor load of `gpulse check`, recorded as by `gpulse run`. */
import { defined } from "../../base/defined.ts";
import { GpulseError } from "../../base/error.ts";
import { parseSource } from "../../sources/open.ts";
import type { CommandIo } from "../command/io.ts";
import { parseDurationFlag } from "../run/options.ts";
import { defaultFile, defaultFolder, newId, runRun } from "../run/run.ts";
import { number, type StressFlags } from "./run.ts";

/** Options of the simulation, which a real GPU does not accept. */
const simulatedOnly = ["rate", "warmup", "ambient"] as const;

export async function runRealStress(
  flags: StressFlags,
  source: string,
  io: CommandIo,
): Promise<number> {
  for (const name of simulatedOnly)
    if (flags[name] !== undefined)
      throw new GpulseError("USAGE", `--${name} is for simulated GPUs only. Remove it.`);
  const seconds = Math.round(parseDurationFlag("--for", flags.for ?? "1m", 1_000) / 1_000);
  const repeats = number("--repeats", flags.repeats ?? "3", 1, 1_000);
  const { options } = parseSource(source);
  const { library } = options as { library?: string };
  const label = flags.label ?? "tensor";
  const command = [
    process.execPath,
    process.argv[1] ?? "",
    "check",
    "--only",
    "tensor",
    "--seconds",
    String(seconds),
    ...(flags.gpu === undefined ? [] : ["--gpu", flags.gpu]),
    ...(flags.cudaLibrary === undefined ? [] : ["--cuda-library", flags.cudaLibrary]),
    ...(library === undefined ? [] : ["--nvml-library", library]),
  ];
  for (let repeat = 0; repeat < repeats; repeat++) {
    const out = defaultFile(label, newId(), new Date(), flags.folder ?? defaultFolder);
    const code = await runRun(
      command,
      {
        source: [source],
        label,
        out,
        workPattern: String.raw`did ([0-9.]+) TFLOP`,
        workTake: "sum",
        unit: "TFLOP",
        baseline: flags.baseline ?? "10s",
        capture: true,
        ...defined({ sampling: flags.sampling, json: flags.json, hostName: flags.hostName }),
      },
      io,
    );
    // A GPU that is busy or fails now would do so in every repeat.
    if (code !== 0) return code;
  }
  return 0;
}
