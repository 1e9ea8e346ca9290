/**
 * Measures what recording costs a program: a fixed CPU load, alternately with and without the recorder. Differences within the
 * noise are reported as such.
 */
import { spawn } from "node:child_process";
import type { RunOverhead } from "../../runs/run.ts";
import type { Progress } from "../command/progress.ts";
import { countOf } from "../command/quantity.ts";

const rounds = 5;
/** Takes about half a second on a current machine. */
const program = `
const spin = (n) => { let x = 1; for (let i = 0; i < n; i++) x = (Math.imul(x, 1103515245) + 12345) | 0; return x };
spin(5e7);
const from = process.hrtime.bigint();
spin(5e8);
process.stdout.write(String(Number(process.hrtime.bigint() - from) / 1e6));`;

export interface StartableRecorder {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Alternating, so that a machine that warms up affects both alike. */
export async function measureOverhead(
  recording: () => Promise<StartableRecorder>,
  progress?: Progress,
): Promise<NonNullable<RunOverhead["measured"]>> {
  const without: number[] = [];
  const recorded: number[] = [];
  for (let round = 0; round < rounds; round++) {
    progress?.show({ name: "overhead", fraction: round / rounds, count: round, unit: "round" });
    without.push(await spinMs());
    const recorder = await recording();
    await recorder.start();
    recorded.push(await spinMs());
    await recorder.stop();
  }
  progress?.clear();
  return slowdown(without, recorded);
}

/** Compares medians; the noise is half the interquartile range of the unrecorded runs, divided by their median. */
export function slowdown(
  without: readonly number[],
  recorded: readonly number[],
): NonNullable<RunOverhead["measured"]> {
  const sorted = without.toSorted((one, other) => one - other);
  const middle = median(without);
  const spread =
    (sorted[Math.ceil(sorted.length * 0.75) - 1] ?? 0) -
    (sorted[Math.floor(sorted.length * 0.25)] ?? 0);
  return { slowdownRatio: median(recorded) / middle - 1, noiseRatio: spread / 2 / middle };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  const high = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? high : ((sorted[half - 1] ?? high) + high) / 2;
}

function spinMs(): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.once("error", reject);
    child.once("close", () => resolve(Number(said)));
  });
}

/** Reports a slowdown below the noise as not measurable. */
export function formatOverhead({ cpuSeconds, shareOfCore, cores, measured }: RunOverhead): string {
  const share = `recording used ${percent(shareOfCore)} of one core (${cpuSeconds.toFixed(2)} s of CPU time; this machine has ${countOf(cores, "core")})`;
  if (measured === undefined) return `${share}; its slowdown was not measured (--measure-overhead)`;
  const { slowdownRatio, noiseRatio } = measured;
  if (Math.abs(slowdownRatio) <= noiseRatio)
    return `${share}; it slowed CPU work by less than can be measured here (±${percent(noiseRatio)})`;
  return `${share}; it slowed CPU work by ${percent(slowdownRatio)} (±${percent(noiseRatio)})`;
}

const percent = (ratio: number): string => `${(ratio * 100).toFixed(2)} %`;
