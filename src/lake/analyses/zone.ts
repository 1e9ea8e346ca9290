/**
 * A time zone as SQL: when its clocks change within the data, written out as cases. Engines then need no zones of their
 * own, which differ from one to the next. Pure.
 */
import type { Zone } from "../../formats/gpuz/time.ts";

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** The instants at which the offset changes, with the offset from then on; the first is that of the beginning. */
export function offsetChanges(
  zone: Zone,
  fromMs: number,
  toMs: number,
): readonly { readonly fromMs: number; readonly offsetMs: number }[] {
  const changes = [{ fromMs, offsetMs: zone.offsetMs(fromMs) }];
  for (let beforeMs = fromMs; beforeMs < toMs;) {
    const afterMs = Math.min(toMs, beforeMs + dayMs);
    if (zone.offsetMs(afterMs) !== zone.offsetMs(beforeMs)) {
      const atMs = changeBetween(zone, beforeMs, afterMs);
      changes.push({ fromMs: atMs, offsetMs: zone.offsetMs(atMs) });
    }
    beforeMs = afterMs;
  }
  return changes;
}

function changeBetween(zone: Zone, lowMs: number, highMs: number): number {
  const before = zone.offsetMs(lowMs);
  let [low, high] = [Math.floor(lowMs / minuteMs), Math.ceil(highMs / minuteMs)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zone.offsetMs(middle * minuteMs) === before) low = middle;
    else high = middle;
  }
  return high * minuteMs;
}

/** The zone's wall clock at an instant, both in milliseconds. */
export function localSql(zone: Zone, fromMs: number, toMs: number): (timeMs: string) => string {
  const [first, ...later] = offsetChanges(zone, fromMs, toMs);
  return (timeMs) => {
    if (later.length === 0) return `${timeMs} + ${first?.offsetMs ?? 0}`;
    const cases = later
      .toReversed()
      .map((change) => `when ${timeMs} >= ${change.fromMs} then ${change.offsetMs}`);
    return `${timeMs} + case ${cases.join(" ")} else ${first?.offsetMs ?? 0} end`;
  };
}
