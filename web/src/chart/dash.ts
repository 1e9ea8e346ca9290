/** Dash patterns of lines, so that they stay distinguishable without colours. */
import type { ChartLine } from "./model.ts";

/** Strokes and spaces in pixels. Strokes are long, so that a gap in the readings stays visible. */
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

/** Returns the pattern of the line at `at`: the first is solid, the following differ, all limits share one. */
export function dashOf(lines: readonly ChartLine[], at: number): readonly number[] {
  if (lines[at]?.dashed === true) return LIMIT;
  const place = lines.slice(0, at).filter(({ dashed }) => dashed !== true).length;
  return patterns[place % patterns.length] ?? [];
}
