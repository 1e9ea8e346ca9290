/** Formats times, shares and energy of jobs. */
import type { JobSummary } from "./api.ts";

/** `45 s`, `12 min`, `3.2 h`, `5.1 d`: one unit, because readers compare sums of GPU time and do not add them up. */
export function formatGpuTime(seconds: number): string {
  if (seconds < 90) return `${seconds.toFixed(0)} s`;
  if (seconds < 90 * 60) return `${(seconds / 60).toFixed(0)} min`;
  if (seconds < 72 * 3_600) return `${(seconds / 3_600).toFixed(1)} h`;
  return `${(seconds / 86_400).toFixed(1)} d`;
}

const JOULES_PER_KWH = 3_600_000;

export const formatEnergy = (joules: number): string =>
  joules < JOULES_PER_KWH / 10
    ? `${((joules / JOULES_PER_KWH) * 1_000).toFixed(1)} Wh`
    : `${(joules / JOULES_PER_KWH).toFixed(2)} kWh`;

/** Useful share of the time with reported activity; undefined without any. */
export function usefulShare({
  gpuSeconds,
  unknownSeconds,
  usefulSeconds,
}: Pick<JobSummary, "gpuSeconds" | "unknownSeconds" | "usefulSeconds">): number | undefined {
  const known = gpuSeconds - unknownSeconds;
  return known > 0 ? usefulSeconds / known : undefined;
}

/** The part of a job's key that its name does not contain: the host of a process, the namespace of a pod. */
export function formatKey({ key, name }: Pick<JobSummary, "key" | "name">): string {
  const text = key.replace(/^[a-z]+:/, "");
  return text.endsWith(`/${name}`) ? text.slice(0, -name.length - 1) : text === name ? "" : text;
}

/** The level of a state that its owner should look at. */
export function stateLevel(state: string): "warn" | "bad" | undefined {
  if (state === "failed" || state === "out_of_memory" || state === "node_failed") return "bad";
  return state === "timeout" || state === "preempted" || state === "expired" ? "warn" : undefined;
}
