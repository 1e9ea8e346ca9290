/** Which rows of a long table are on screen, while the page itself scrolls. */
import { useEffect, useState } from "preact/hooks";
import type { Density } from "../view-state/tastes.ts";

/** Rows kept above and below, so that scrolling does not show white before the next frame. */
const SPARE_ROWS = 6;
const NARROW = "(max-width: 45rem)";

/** In CSS pixels: the table's `--row` is set from it, so that the two always agree. */
export function useRowHeight(density: Density): number {
  // Measured on resize only: asking for a computed style makes the browser style thousands of cells on the spot.
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
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(innerHeight);
  useEffect(() => {
    const look = (): void => {
      const above = -(body.current?.getBoundingClientRect().top ?? 0);
      // Whole steps of the spare rows: scrolling renders again only when new rows are needed.
      const step = rowPx * SPARE_ROWS;
      setTop(Math.max(0, Math.floor(above / step) * step));
      setHeight(innerHeight);
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [body, rowPx, count]);
  const first = Math.min(count, Math.max(0, Math.floor(top / rowPx) - SPARE_ROWS));
  return { first, last: Math.min(count, first + Math.ceil(height / rowPx) + 3 * SPARE_ROWS) };
}
