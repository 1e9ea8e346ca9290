/** Bars and history curves out of characters. An absent value draws nothing: 0 has its own mark, the lowest one. */
import type { Glyphs } from "./glyphs.ts";
import { span, type TextRole, type TextSpan } from "./row.ts";

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
