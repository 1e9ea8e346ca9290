/** The state of a job in words. */
import { formatAge } from "../age.ts";
import type { JobSummary } from "./summary.ts";

/** A job that no scheduler has reported ends minutes after its processes; until then it counts as not seen. */
const seenForMs = 90_000;

/** @param space between a number and its unit: non-breaking by default */
export function formatState(
  { state, scheduled, seenMs }: Pick<JobSummary, "state" | "scheduled" | "seenMs">,
  nowMs: number,
  space?: string,
): string {
  const unseenMs = nowMs - seenMs;
  return state === "running" && scheduled !== true && unseenMs > seenForMs
    ? `not seen for ${formatAge(unseenMs, space)}`
    : state.replaceAll("_", " ");
}
