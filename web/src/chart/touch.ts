/**
 * Touch gestures on a plot: one finger moved sideways reads values or drags a range, two fingers zoom. Vertical moves still scroll
 * the page.
 */
import type uPlot from "uplot";

/** A touch held this long before it moves drags a range; a shorter one reads values. */
const HOLD_MS = 350;
const LEAST_DRAG_PX = 12;
const LEAST_PINCH_PX = 24;

export interface TouchEvents {
  point(at: number | undefined): void;
  zoom(fromMs: number, toMs: number): void;
}

interface TouchSpan {
  readonly left: number;
  readonly right: number;
}

/**
 * Returns the window after a pinch: the instants under both fingers at the start are under them at the end. Pure.
 * @param widthPx of the plot
 */
export function pinchWindow(
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  widthPx: number,
  start: TouchSpan,
  end: TouchSpan,
): { readonly fromMs: number; readonly toMs: number } {
  const msPerPx = (toMs - fromMs) / widthPx;
  const [leftMs, rightMs] = [fromMs + start.left * msPerPx, fromMs + start.right * msPerPx];
  const spread = Math.max(1, end.right - end.left);
  const nextMsPerPx = (rightMs - leftMs) / spread;
  return {
    fromMs: leftMs - end.left * nextMsPerPx,
    toMs: leftMs + (widthPx - end.left) * nextMsPerPx,
  };
}

export function watchTouch(plot: uPlot, events: TouchEvents): void {
  const { over } = plot;
  let [startedMs, startX, isDragging] = [0, 0, false];
  let pinch: { readonly start: TouchSpan; end: TouchSpan } | undefined;
  const xOf = ({ clientX }: Touch): number => clientX - over.getBoundingClientRect().left;
  const spanOf = (touches: TouchList): TouchSpan | undefined => {
    const [one, other] = [touches[0], touches[1]];
    if (one === undefined || other === undefined) return undefined;
    const [a, b] = [xOf(one), xOf(other)];
    return { left: Math.min(a, b), right: Math.max(a, b) };
  };
  const select = (left: number, right: number): void =>
    plot.setSelect(
      {
        left: Math.min(left, right),
        width: Math.abs(right - left),
        top: 0,
        height: over.clientHeight,
      },
      false,
    );
  over.style.touchAction = "pan-y";
  over.addEventListener(
    "touchstart",
    (event) => {
      const span = spanOf(event.touches);
      pinch = span === undefined ? undefined : { start: span, end: span };
      const [first] = event.touches;
      if (first === undefined) return;
      [startedMs, startX, isDragging] = [event.timeStamp, xOf(first), false];
      if (pinch === undefined) events.point(plot.posToIdx(startX));
    },
    { passive: true },
  );
  over.addEventListener(
    "touchmove",
    (event) => {
      const span = spanOf(event.touches);
      if (pinch !== undefined && span !== undefined) {
        pinch.end = span;
        event.preventDefault();
        return;
      }
      const [first] = event.touches;
      if (first === undefined) return;
      const x = xOf(first);
      if (!isDragging && Math.abs(x - startX) >= LEAST_DRAG_PX)
        isDragging = event.timeStamp - startedMs >= HOLD_MS;
      if (isDragging) select(startX, x);
      else events.point(plot.posToIdx(x));
    },
    { passive: false },
  );
  over.addEventListener("touchend", (event) => {
    const [last] = event.changedTouches;
    if (pinch !== undefined) {
      const { start, end } = pinch;
      pinch = undefined;
      const [min, max] = [plot.scales["x"]?.min, plot.scales["x"]?.max];
      const moved = Math.abs(end.right - end.left - (start.right - start.left));
      if (moved >= LEAST_PINCH_PX && typeof min === "number" && typeof max === "number") {
        const next = pinchWindow({ fromMs: min, toMs: max }, over.clientWidth, start, end);
        events.zoom(next.fromMs, next.toMs);
      }
    } else if (isDragging && last !== undefined) {
      const x = xOf(last);
      if (Math.abs(x - startX) >= LEAST_DRAG_PX)
        events.zoom(
          plot.posToVal(Math.min(startX, x), "x"),
          plot.posToVal(Math.max(startX, x), "x"),
        );
      select(0, 0);
    } else if (last !== undefined) events.point(plot.posToIdx(xOf(last)));
    isDragging = false;
  });
  over.addEventListener("touchcancel", () => {
    [isDragging, pinch] = [false, undefined];
    events.point(undefined);
    select(0, 0);
  });
}
