/** How a line is dashed, so that lines stay distinguishable without their colours. */
import type { ChartLine } from "./model.ts";

/** Strokes and spaces in pixels. Long strokes: a gap in the readings has to stay visible as one. */
const patterns: readonly (readonly number[])[] = [
  [],
  [10, 3],
  [3, 3],
  [12, 3, 3, 3],
  [18, 4],
  [6, 3],
  [12, 3, 3, 3, 3, 3],
  [1, 3],
];
const LIMIT: readonly number[] = [4, 4];

/** Of the line at `at`: the first is solid, the next ones differ, limits look alike. */
export function dashOf(lines: readonly ChartLine[], at: number): readonly number[] {
  if (lines[at]?.dashed === true) return LIMIT;
  const place = lines.slice(0, at).filter(({ dashed }) => dashed !== true).length;
  return patterns[place % patterns.length] ?? [];
}
