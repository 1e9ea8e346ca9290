/** A GPU under test: the device, its guard, and the pauses between slices of load in which the test can be stopped. */
import type { CudaDevice } from "./device.ts";
import type { GpuGuard } from "./guard.ts";
import type { CheckedDevice, CheckEvent, CheckTest } from "./protocol.ts";

/** Another program is on the GPU, or the user stopped the test. */
export class StoppedError extends Error {}

/** Length of one slice of load: short enough to stop quickly, long enough to make the launch overhead negligible. */
export const sliceSeconds = 0.1;

export interface CheckSession {
  readonly device: CudaDevice;
  readonly facts: CheckedDevice;
  readonly guard: GpuGuard;
  readonly emit: (event: CheckEvent) => void;
  /** Returns why the program requested a stop; undefined if it did not. */
  readonly stopped: () => string | undefined;
}

/** Processes incoming messages, and throws if the test must end. */
export async function pause(session: CheckSession, test: string, fraction: number): Promise<void> {
  const { device, guard, emit } = session;
  emit({ kind: "progress", test, fraction: Math.min(1, fraction) });
  guard.sample();
  const other = guard.findForeign(device.memory().freeBytes);
  if (other !== undefined) throw new StoppedError(`${other} started to use the GPU`);
  await new Promise((resolve) => setImmediate(resolve));
  const reason = session.stopped();
  if (reason !== undefined) throw new StoppedError(reason);
}

/** Runs slices until the time is over, at least `least` of them; each returns its own seconds on the GPU. */
export async function runSlices(
  session: CheckSession,
  { test, seconds, least = 3 }: { test: CheckTest; seconds: number; least?: number },
  slice: () => number,
): Promise<number[]> {
  session.guard.expectMemory(session.device.memory().freeBytes);
  const startMs = performance.now();
  const times: number[] = [];
  for (;;) {
    const fraction = (performance.now() - startMs) / 1_000 / Math.max(seconds, 0.001);
    if (fraction >= 1 && times.length >= least) return times;
    times.push(slice());
    await pause(session, test, fraction);
  }
}

/** The number of repeats that fill a slice, from the duration of one repeat. */
export const repeatsFor = (secondsEach: number, most = 2 ** 30): number =>
  Math.max(1, Math.min(most, Math.round(sliceSeconds / Math.max(secondsEach, 1e-7))));

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
