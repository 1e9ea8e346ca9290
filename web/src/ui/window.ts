/** The visible rows of a long table, while the page itself scrolls. */
import { useEffect, useState } from "preact/hooks";
import type { Density } from "../view-state/preferences.ts";

/** Rows rendered above and below, so that scrolling does not show white before the next frame. */
const SPARE_ROWS = 6;
const NARROW = "(max-width: 45rem)";

/** In CSS pixels: the table's `--row` is set from it, so that the two always agree. */
export function useRowHeight(density: Density): number {
  // Measured on resize only: reading a computed style forces the browser to style thousands of cells at once.
  const [{ rem, narrow }, setScreen] = useState(measure);
  useEffect(() => {
    const resized = (): void => setScreen(measure());
    addEventListener("resize", resized);
    return () => removeEventListener("resize", resized);
  }, []);
  const rows = narrow ? { compact: 3.25, comfortable: 3.75 } : { compact: 1.625, comfortable: 2.5 };
  return Math.round(rem * rows[density]);
}

const measure = (): { rem: number; narrow: boolean } => ({
  rem: Number.parseFloat(getComputedStyle(document.documentElement).fontSize),
  narrow: matchMedia(NARROW).matches,
});

export function useWindow(
  body: { readonly current: HTMLElement | null },
  rowPx: number,
  count: number,
): { first: number; last: number } {
  // Top of the screen relative to the first row: negative while elements above the table are visible.
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(innerHeight);
  useEffect(() => {
    const look = (): void => {
      const above = -(body.current?.getBoundingClientRect().top ?? 0);
      // In whole steps of the spare rows: scrolling renders again only when new rows are needed.
      const step = rowPx * SPARE_ROWS;
      setTop(Math.floor(above / step) * step);
      setHeight(innerHeight);
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    // Elements above the table appear and disappear, and move it without a scroll event.
    const moved = new ResizeObserver(look);
    moved.observe(document.body);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
      moved.disconnect();
    };
  }, [body, rowPx, count]);
  const at = Math.floor(top / rowPx);
  const within = (row: number): number => Math.min(count, Math.max(0, row));
  return {
    first: within(at - SPARE_ROWS),
    last: within(at + Math.ceil(height / rowPx) + 2 * SPARE_ROWS),
  };
}
