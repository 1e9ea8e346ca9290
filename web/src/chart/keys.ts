/** Keyboard control of a chart: arrow keys move the cursor, plus zooms in around it. */
import { zoomTo } from "../view-state/time.ts";
import { cursor } from "./cursor.ts";
import type { ChartData } from "./model.ts";

const FAR_POINTS = 10;

/** Returns true if the key was handled. */
export function moveCursor(
  event: KeyboardEvent,
  { grid, window, lines }: ChartData,
  at: number | undefined,
  from: object,
): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const last = (lines[0]?.values.length ?? 0) - 1;
  if (last < 0) return false;
  const step = event.shiftKey ? FAR_POINTS : 1;
  const to = {
    ArrowRight: (at ?? last - 1) + step,
    ArrowLeft: (at ?? last + 1) - step,
    Home: 0,
    End: last,
  }[event.key];
  if (to !== undefined) {
    const next = Math.min(last, Math.max(0, to));
    cursor.value = { ms: grid.startMs + next * grid.stepMs, from, keys: true };
    event.preventDefault();
    return true;
  }
  if (event.key !== "+" && event.key !== "=") return false;
  const middle =
    at === undefined ? (window.fromMs + window.toMs) / 2 : grid.startMs + at * grid.stepMs;
  const quarter = (window.toMs - window.fromMs) / 4;
  zoomTo(middle - quarter, middle + quarter);
  event.preventDefault();
  return true;
}
