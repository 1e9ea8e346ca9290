/** Runs `gpulse stress`: the same load on simulated GPUs, or the load of `gpulse check` on NVIDIA GPUs, recorded as runs. */
import { hostname } from "node:os";
import type { CommandIo } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { defined } from "../../base/defined.ts";
import { GpulseError } from "../../base/error.ts";
import { packRun, writeRunBytes } from "../../runs/file/file.ts";
import { parseSource } from "../../sources/open.ts";
import { findModel, models } from "../../sources/sim/models/index.ts";
import type { GpuModel } from "../../sources/sim/physics/model.ts";
import { parseDurationFlag } from "../run/options.ts";
import { defaultFile, defaultFolder, newId } from "../run/run.ts";
import { formatRunSummary } from "../run/summary.ts";
import { simulateStress } from "./simulate.ts";

export interface StressFlags {
  readonly json?: boolean;
  readonly source?: string;
  readonly rate?: string;
  readonly for?: string;
  readonly warmup?: string;
  readonly baseline?: string;
  readonly sampling?: string;
  readonly repeats?: string;
  readonly label?: string;
  readonly ambient?: string;
  readonly folder?: string;
  readonly hostName?: string;
  /** The GPU, and the test's replacement for the library, as for `gpulse check`. */
  readonly gpu?: string;
  readonly cudaLibrary?: string;
}

export async function runStress(flags: StressFlags, io: CommandIo): Promise<number> {
  if (flags.source !== undefined && parseSource(flags.source).definition.name === "nvidia")
    return (await import("./real.ts")).runRealStress(flags, flags.source, io);
  const { model, seed, gpus } = simulated(flags.source);
  const rate = flags.rate === undefined ? undefined : number("--rate", flags.rate, 0.001, 1e6);
  const repeats = number("--repeats", flags.repeats ?? "3", 1, 1_000);
  const whole = (flag: string, text: string): number =>
    Math.round(parseDurationFlag(flag, text, 1_000) / 1_000) * 1_000;
  const spans = {
    baselineMs: whole("--baseline", flags.baseline ?? "10s"),
    warmupMs: whole("--warmup", flags.warmup ?? "3m"),
    measuredMs: whole("--for", flags.for ?? "1m"),
    samplingMs: parseDurationFlag("--sampling", flags.sampling ?? "100ms", 50),
  };
  const lengthMs = 2 * spans.baselineMs + spans.warmupMs + spans.measuredMs;
  const label = flags.label ?? `${model.key}${rate === undefined ? "" : `-at-${rate}`}`;
  const firstMs = Math.floor(Date.now() / 1_000) * 1_000;
  const progress = new Progress(io.stderr, Date.now, flags.json === true);
  const runs: object[] = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    progress.show({ name: label, fraction: repeat / repeats, count: repeat, unit: "run" });
    const id = newId();
    const file = await simulateStress({
      id,
      label,
      host: flags.hostName ?? hostname(),
      version: io.version,
      model,
      gpus,
      // Each seed has a different ambient temperature, by a few degrees.
      seed: seed + repeat,
      ambientCelsius: number("--ambient", flags.ambient ?? "24", -20, 60),
      ...defined({ rate }),
      ...spans,
      startMs: firstMs - (repeats - repeat) * lengthMs,
    });
    const { bytes, seal } = await packRun(file);
    const out = defaultFile(label, id, new Date(file.run.startedMs), flags.folder ?? defaultFolder);
    await writeRunBytes(out, bytes);
    progress.clear();
    runs.push({ file: out, seal, ...file.run });
    const [first = "", second = ""] = formatRunSummary(file);
    if (flags.json !== true) io.stdout.write(`${first}\n  ${second}\n  ${out}\n`);
  }
  if (flags.json === true) io.stdout.write(`${JSON.stringify({ runs }, null, 2)}\n`);
  io.stderr.write(
    `gpulse: simulated: these values come from a model of the ${model.name}, not from hardware\n`,
  );
  return 0;
}

function simulated(url: string | undefined): {
  readonly model: GpuModel;
  readonly seed: number;
  readonly gpus: number;
} {
  if (url === undefined)
    throw new GpulseError(
      "USAGE",
      "gpulse stress needs GPUs to load. Pass --source nvidia: for a real NVIDIA GPU, or a simulated one, such as --source 'sim:?model=RX7800XT'. To load another GPU, wrap your own program: gpulse run -- ./benchmark.",
    );
  const { definition, options } = parseSource(url);
  if (definition.name !== "sim")
    throw new GpulseError(
      "USAGE",
      `gpulse stress cannot load ${definition.name}: it has a load for NVIDIA GPUs and simulated ones only. Wrap your own: gpulse run -- ./benchmark.`,
    );
  const { model, seed, gpus } = options as { model?: string; seed: number; gpus?: number };
  const found = findModel(model ?? "H200");
  if (found === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `The simulator has no model "${model ?? ""}". It has ${models.map(({ key }) => key).join(", ")}.`,
    );
  return { model: found, seed, gpus: gpus ?? 1 };
}

export function number(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new GpulseError("USAGE", `${flag} must be a number from ${min} to ${max}, not "${text}".`);
}
