/** The points of a series in a test script: `1 2+3x4 _ _x2 stale NaN {{…}}`. */
import { readNumber } from "../../src/query/number.ts";

export interface Point {
  /** Absent: a gap. */
  readonly value?: number | undefined;
  readonly stale?: boolean | undefined;
  /** A native histogram, whose value is not read. */
  readonly native?: boolean | undefined;
}

export function readPoints(text: string): Point[] {
  const out: Point[] = [];
  for (const word of text.trim().match(/\{\{[^}]*\}\}(?:[-+]\{\{[^}]*\}\})?(?:x\d+)?|\S+/g) ?? [])
    out.push(...pointsOf(word));
  return out;
}

function pointsOf(word: string): Point[] {
  if (word.startsWith("{{")) {
    const times = /x(\d+)$/.exec(word.replace(/\{\{.*?\}\}/g, ""))?.[1];
    return Array.from({ length: Number(times ?? 0) + 1 }, () => ({ native: true }));
  }
  const gaps = /^_(?:x(\d+))?$/.exec(word);
  if (gaps !== null) return Array.from({ length: Number(gaps[1] ?? 1) }, () => ({}));
  const stale = /^stale(?:x(\d+))?$/.exec(word);
  if (stale !== null)
    return Array.from({ length: Number(stale[1] ?? 0) + 1 }, () => ({ stale: true }));
  const repeated = /^(0x[0-9a-fA-F]+|[-+]?[^x]+?)x(\d+)$/.exec(word);
  if (repeated === null) return [{ value: numberOf(word) }];
  const times = Number(repeated[2]);
  const series = /^(.*[0-9fFnN.])([-+])(.+)$/.exec(repeated[1] ?? "");
  const start = numberOf(series?.[1] ?? repeated[1] ?? "");
  const delta = series === null ? 0 : numberOf(`${series[2]}${series[3]}`);
  // Added up, not multiplied: rounding is part of what scripts expect.
  const out: Point[] = [];
  let value = start;
  for (let index = 0; index <= times; index++) {
    out.push({ value });
    value += delta;
  }
  return out;
}

function numberOf(text: string): number {
  const sign = /^[-+]/.test(text) ? text[0] : undefined;
  const value = readNumber(sign === undefined ? text : text.slice(1));
  if (value === undefined) throw new Error(`not a number: ${text}`);
  return sign === "-" ? -value : value;
}
