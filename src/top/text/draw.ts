/** Bars and history curves made of characters. An absent value draws nothing; 0 has its own mark, the lowest one. */
import type { Glyphs } from "./glyphs.ts";
import { span, type TextRole, type TextRow, type TextSpan } from "./row.ts";

/** A bar filled by the ratio; over 1 is full, absent is blank. */
export function bar(
  ratio: number | undefined,
  width: number,
  role: TextRole,
  glyphs: Glyphs,
): readonly TextSpan[] {
  if (width <= 0) return [];
  if (ratio === undefined) return [span(" ".repeat(width), "dim")];
  const { parts, empty } = glyphs;
  const steps = Math.round(Math.min(1, Math.max(0, ratio)) * width * parts.length);
  const whole = Math.floor(steps / parts.length);
  const part = steps % parts.length;
  const full = (parts.at(-1) ?? "#").repeat(whole) + (part === 0 ? "" : (parts[part - 1] ?? ""));
  const blank = width - whole - (part === 0 ? 0 : 1);
  return [span(full, role), span(empty.repeat(blank), "dim")];
}

/** Number of points in a curve of this width. */
export const pointsIn = (width: number, glyphs: Glyphs): number =>
  glyphs.ascii ? width : width * 2;

/** A filled curve, `height` lines of `width` characters, top line first. Values are 0 to 1, oldest first, and end at the right edge. */
export function curve(
  values: readonly (number | null)[],
  width: number,
  height: number,
  glyphs: Glyphs,
): string[] {
  const count = pointsIn(width, glyphs);
  const from = values.length - count;
  const at = (point: number): number | null => values[from + point] ?? null;
  return Array.from({ length: height }, (_, line) => {
    let text = "";
    for (let column = 0; column < width; column += 1) {
      text += glyphs.ascii
        ? asciiCell(at(column), height, line, glyphs)
        : brailleCell(at(column * 2), at(column * 2 + 1), height, line);
    }
    return text;
  });
}

/** The second curve of a plot: a line over the filled one. */
export interface PlotLine {
  readonly values: readonly (number | null)[];
  readonly role: TextRole;
}

/**
 * A filled curve with a line over it, in two roles. Inside the filled part the line is a gap, so that it is visible without colour;
 * in ASCII it is an `o`.
 */
export function plot(
  values: readonly (number | null)[],
  role: TextRole,
  line: PlotLine,
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const filled = curve(values, width, height, glyphs);
  const { lowest, highest } = lineDots(line.values, width, height, glyphs);
  const perCell = pointsIn(1, glyphs);
  return filled.map((text, row) => {
    const bottom = (height - 1 - row) * 4;
    const spans: TextSpan[] = [];
    let from = 0;
    let run = "";
    let runRole = role;
    for (let column = 0; column < width; column += 1) {
      let bits = 0;
      for (let half = 0; half < perCell; half += 1) {
        const point = column * perCell + half;
        const dots = half === 0 ? leftDots : rightDots;
        const first = Math.max(lowest[point] ?? ABSENT, bottom) - bottom;
        const last = Math.min(highest[point] ?? ABSENT, bottom + 3) - bottom;
        for (let dot = first; dot <= last; dot += 1) bits |= dots[dot] ?? 0;
      }
      const nextRole = bits === 0 ? role : line.role;
      if (nextRole !== runRole) {
        run += text.slice(from, column);
        if (run !== "") spans.push(span(run, runRole));
        run = "";
        runRole = nextRole;
        from = column;
      }
      if (bits === 0) continue;
      run += text.slice(from, column);
      run += cellWithLine(text[column] ?? " ", bits, row === height - 1, glyphs);
      from = column + 1;
    }
    run += text.slice(from, width);
    if (run !== "") spans.push(span(run, runRole));
    return spans;
  });
}

function cellWithLine(under: string, bits: number, isBottom: boolean, glyphs: Glyphs): string {
  if (glyphs.ascii) return "o";
  const dots = under === " " ? 0 : under.charCodeAt(0) - 0x2800;
  // The lowest dot stays, because it marks 0: without it a reading of 0 would look absent.
  const zero = isBottom ? bits & (leftDots[0] | rightDots[0]) : 0;
  return String.fromCharCode(0x2800 + ((dots ^ bits) | zero));
}

const ABSENT = -1;

/** The dots of each point of a line, counted from the bottom: from the previous point up or down to its own. */
function lineDots(
  values: readonly (number | null)[],
  width: number,
  height: number,
  glyphs: Glyphs,
): { readonly lowest: Int16Array; readonly highest: Int16Array } {
  const count = pointsIn(width, glyphs);
  const from = values.length - count;
  const lowest = new Int16Array(count).fill(ABSENT);
  const highest = new Int16Array(count).fill(ABSENT);
  let before = ABSENT;
  for (let point = 0; point < count; point += 1) {
    const value = values[from + point] ?? null;
    if (value === null) {
      before = ABSENT;
      continue;
    }
    const dot = Math.max(1, Math.round(Math.min(1, Math.max(0, value)) * height * 4)) - 1;
    const start = before === ABSENT ? dot : before < dot ? before + 1 : Math.max(dot, before - 1);
    lowest[point] = Math.min(start, dot);
    highest[point] = Math.max(start, dot);
    before = dot;
  }
  return { lowest, highest };
}

/** Dots of the left and right half of a braille cell, from the bottom up. */
const leftDots = [0x40, 0x04, 0x02, 0x01] as const;
const rightDots = [0x80, 0x20, 0x10, 0x08] as const;

function brailleCell(
  left: number | null,
  right: number | null,
  height: number,
  line: number,
): string {
  const below = (height - 1 - line) * 4;
  let dots = 0;
  const put = (value: number | null, column: readonly number[]): void => {
    if (value === null) return;
    const filled = Math.max(1, Math.round(Math.min(1, Math.max(0, value)) * height * 4)) - below;
    for (let dot = 0; dot < Math.min(4, filled); dot += 1) dots |= column[dot] ?? 0;
  };
  put(left, leftDots);
  put(right, rightDots);
  return dots === 0 ? " " : String.fromCharCode(0x2800 + dots);
}

function asciiCell(value: number | null, height: number, line: number, glyphs: Glyphs): string {
  if (value === null) return " ";
  const steps = glyphs.levels.length;
  const filled =
    Math.max(1, Math.round(Math.min(1, Math.max(0, value)) * height * steps)) -
    (height - 1 - line) * steps;
  if (filled <= 0) return " ";
  return glyphs.levels[Math.min(steps, filled) - 1] ?? " ";
}
