/** Times, shares and energy of jobs as people read them. */
import { formatAge } from "../../../../src/view/age.ts";
import type { JobSummary } from "./api.ts";

/** `45 s`, `12 min`, `3.2 h`, `5.1 d`: one unit, since sums of GPU time are compared and not added up by readers. */
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

/** The useful part of the time in which activity was reported; undefined where none was. */
export function usefulShare({
  gpuSeconds,
  unknownSeconds,
  usefulSeconds,
}: Pick<JobSummary, "gpuSeconds" | "unknownSeconds" | "usefulSeconds">): number | undefined {
  const known = gpuSeconds - unknownSeconds;
  return known > 0 ? usefulSeconds / known : undefined;
}

/** A job without a scheduler ends minutes after its processes: until then it is only not seen. */
const SEEN_MS = 90_000;

export function formatState({ state, kind, seenMs }: StatedJob, nowMs: number): string {
  const unseenMs = nowMs - seenMs;
  return state === "running" && kind !== "slurm" && unseenMs > SEEN_MS
    ? `not seen for ${formatAge(unseenMs)}`
    : state.replaceAll("_", " ");
}
type StatedJob = Pick<JobSummary, "state" | "kind" | "seenMs">;

/** Where the job is named, as far as its name does not say it: the host of a process, the namespace of a pod. */
export function formatKey({ key, name }: Pick<JobSummary, "key" | "name">): string {
  const text = key.replace(/^[a-z]+:/, "");
  return text.endsWith(`/${name}`) ? text.slice(0, -name.length - 1) : text === name ? "" : text;
}

/** A state that its owner should look at. */
export function stateLevel(state: string): "warn" | "bad" | undefined {
  if (state === "failed" || state === "out_of_memory" || state === "node_failed") return "bad";
  return state === "timeout" || state === "preempted" || state === "expired" ? "warn" : undefined;
}
