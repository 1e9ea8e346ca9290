/** Finds the events at the instant under the charts' cursor. Pure. */
import type { HubEvent } from "../../query/events.ts";

/** Tolerance of the cursor, as a share of the range. */
const NEAR_SHARE = 0.01;
const NEAR_LEAST_MS = 2_000;

export interface EventsAtCursor {
  /** Indices of the events at the cursor. */
  readonly at: ReadonlySet<number>;
  /** The index of the nearest event in either direction; undefined without events. */
  readonly nearest: number | undefined;
}

export function findEventsAt(
  events: readonly Pick<HubEvent, "timeMs" | "endMs">[],
  cursorMs: number | undefined,
  rangeMs: number,
): EventsAtCursor {
  if (cursorMs === undefined) return { at: new Set(), nearest: undefined };
  const nearMs = Math.max(NEAR_LEAST_MS, rangeMs * NEAR_SHARE);
  const distances = events.map(({ timeMs, endMs = timeMs }) =>
    Math.max(0, timeMs - cursorMs, cursorMs - endMs),
  );
  let nearest: number | undefined;
  distances.forEach((distance, index) => {
    if (nearest === undefined || distance < (distances[nearest] ?? Infinity)) nearest = index;
  });
  const at = distances.flatMap((distance, index) => (distance <= nearMs ? [index] : []));
  return { at: new Set(at), nearest };
}
