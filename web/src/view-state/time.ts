/** The current time range, as signals shared by every chart of every page. A change adds an entry to the browser history. */
import { computed, effect, signal } from "@preact/signals";
import { hubTimeMs, liveness } from "../live/feed.ts";
import { query, setParams } from "./address.ts";
import { Param, oneOf } from "./param.ts";
import {
  type Range,
  rangeBetween,
  readRange,
  shiftRange,
  type TimeWindow,
  windowOf,
  writeRange,
  zoomOutRange,
} from "./range.ts";
import { refreshMsFor, refreshes } from "../../../src/view/step.ts";

const texts = computed(() =>
  [query.value.get("range"), query.value.get("from"), query.value.get("to")].map(
    (text) => text ?? "",
  ),
);
const joined = computed(() => texts.value.join("\n"));

export const range = computed<Range>(() => {
  const [last = "", from = "", to = ""] = joined.value.split("\n");
  return readRange((name) => ({ range: last, from, to })[name]);
});

export const refresh = new Param("refresh", oneOf(refreshes));

/** The right edge of a live range; moves with every refresh and stops while the hub is unreachable. */
export const nowMs = signal(hubTimeMs());

/** True if the right edge follows the present. */
export const following = computed(() => range.value.kind === "last" && refresh.value !== "off");

/** The window of every chart. */
export const timeWindow = computed<TimeWindow>(() => windowOf(range.value, nowMs.value));

export const rangeMs = computed(() =>
  range.value.kind === "last" ? range.value.ms : range.value.toMs - range.value.fromMs,
);

export const pickerOpen = signal(false);

export function setRange(next: Range): void {
  nowMs.value = hubTimeMs();
  setParams({ ...writeRange(next), at: undefined }, "push");
}

/** Zooms to the range selected by dragging in a chart. */
export const zoomTo = (oneMs: number, otherMs: number): void =>
  setRange(rangeBetween(oneMs, otherMs));
export const zoomOut = (): void => setRange(zoomOutRange(range.peek(), hubTimeMs()));
export const shift = (direction: 1 | -1): void =>
  setRange(shiftRange(range.peek(), direction, hubTimeMs()));

/** Refreshes all queries now. */
export function refreshNow(): void {
  nowMs.value = hubTimeMs();
}

/** Returns to the present with the same window length. */
export function goLive(): void {
  setRange({ kind: "last", ms: Math.min(rangeMs.peek(), 30 * 86_400_000) });
  if (refresh.peek() === "off") refresh.value = "auto";
}

export function startTime(): void {
  effect(() => {
    const everyMs = refreshMsFor(refresh.value, rangeMs.value);
    // An unreachable hub answers nothing; when it returns, everything is refreshed.
    if (!following.value || everyMs === undefined || liveness.value === "lost") return undefined;
    const tick = (): void => {
      if (document.visibilityState === "visible") refreshNow();
    };
    tick();
    const timer = setInterval(tick, everyMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  });
}
