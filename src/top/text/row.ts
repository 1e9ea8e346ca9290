/** A line of the screen as spans of text with a role. Only the theme decides what a role looks like. */
import { charWidth, textWidth } from "./width.ts";

export const textRoles = [
  "text",
  "dim",
  "strong",
  "head",
  "util",
  "memory",
  "power",
  "temperature",
  "good",
  "note",
  "warn",
  "bad",
  "heat0",
  "heat1",
  "heat2",
  "heat3",
  "heat4",
  "heat5",
  "heat6",
  "heat7",
] as const;
export type TextRole = (typeof textRoles)[number];

export interface TextSpan {
  readonly text: string;
  readonly role: TextRole;
  /** Inverse: the selected row, and the keys of the last line. */
  readonly inverse?: boolean;
}

export type TextRow = readonly TextSpan[];

export const span = (text: string, role: TextRole = "text", inverse = false): TextSpan =>
  inverse ? { text, role, inverse } : { text, role };

export function rowWidth(row: TextRow): number {
  let width = 0;
  for (const { text } of row) width += textWidth(text);
  return width;
}

/** Exactly `width` wide: longer rows are cut off, shorter ones padded. */
export function fitRow(row: TextRow, width: number): TextRow {
  const fitted: TextSpan[] = [];
  let left = width;
  for (const one of row) {
    const wide = textWidth(one.text);
    if (wide <= left) {
      fitted.push(one);
      left -= wide;
      continue;
    }
    let text = "";
    for (const character of one.text) {
      const next = charWidth(character);
      if (next > left) break;
      text += character;
      left -= next;
    }
    fitted.push({ ...one, text });
    break;
  }
  if (left > 0) fitted.push({ text: " ".repeat(left), role: "text" });
  return fitted;
}

/** A left and a right part of a line; if they do not fit, the right one is dropped. */
export function spread(left: TextRow, right: TextRow, width: number): TextRow {
  const gap = width - rowWidth(left) - rowWidth(right);
  return gap < 1 ? fitRow(left, width) : fitRow([...left, span(" ".repeat(gap)), ...right], width);
}

/** The whole line as the selected one. */
export const inverted = (row: TextRow): TextRow => row.map((one) => ({ ...one, inverse: true }));
