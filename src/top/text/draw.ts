/** Bars and history curves out of characters. An absent value draws nothing: 0 has its own mark, the lowest one. */
import type { Glyphs } from "./glyphs.ts";
import { span, type TextRole, type TextRow, type TextSpan } from "./row.ts";

/** A share of the width filled; over 1 is full, absent is blank. */
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

/** How many points stand in a curve of the width. */
export const pointsIn = (width: number, glyphs: Glyphs): number =>
  glyphs.ascii ? width : width * 2;

/**
 * A filled curve, `height` lines of `width` characters, top line first. Values are 0 to 1, oldest first, and end at the
 * right edge.
 */
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
 * A filled curve with a line over it, in two roles. Inside the filled part the line is a gap, so that it is seen without
 * colour too; in ASCII it is an `o`.
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
  const dots = lineDots(line.values, width, height, glyphs);
  const columns = glyphs.ascii ? 1 : 2;
  return filled.map((text, row) => {
    const spans: TextSpan[] = [];
    let run = "";
    let runRole = role;
    for (let column = 0; column < width; column += 1) {
      let character = text[column] ?? " ";
      let bits = 0;
      for (let half = 0; half < columns; half += 1) {
        const cellDots = dots[column * columns + half];
        if (cellDots === undefined) continue;
        for (let dot = cellDots[0]; dot <= cellDots[1]; dot += 1)
          if (Math.floor(dot / 4) === height - 1 - row)
            bits |= (half === 0 ? leftDots : rightDots)[dot % 4] ?? 0;
      }
      if (bits !== 0 && glyphs.ascii) character = "o";
      else if (bits !== 0) {
        const under = character === " " ? 0 : character.charCodeAt(0) - 0x2800;
        // The lowest dot stays: it is the mark of 0, and without it a reading of 0 would look absent.
        const zero = row === height - 1 ? bits & (leftDots[0] | rightDots[0]) : 0;
        character = String.fromCharCode(0x2800 + ((under ^ bits) | zero));
      }
      const nextRole = bits === 0 ? role : line.role;
      if (nextRole !== runRole && run !== "") {
        spans.push(span(run, runRole));
        run = "";
      }
      runRole = nextRole;
      run += character;
    }
    if (run !== "") spans.push(span(run, runRole));
    return spans;
  });
}

/** The dots of each point of a line, counted from the bottom: from the point before it up or down to its own. */
function lineDots(
  values: readonly (number | null)[],
  width: number,
  height: number,
  glyphs: Glyphs,
): readonly (readonly [lowest: number, highest: number] | undefined)[] {
  const count = pointsIn(width, glyphs);
  const from = values.length - count;
  const dots: (readonly [number, number] | undefined)[] = [];
  let before: number | undefined;
  for (let point = 0; point < count; point += 1) {
    const value = values[from + point] ?? null;
    if (value === null) {
      before = undefined;
      dots.push(undefined);
      continue;
    }
    const dot = Math.max(1, Math.round(Math.min(1, Math.max(0, value)) * height * 4)) - 1;
    const start =
      before === undefined ? dot : before < dot ? before + 1 : Math.max(dot, before - 1);
    dots.push([Math.min(start, dot), Math.max(start, dot)]);
    before = dot;
  }
  return dots;
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
