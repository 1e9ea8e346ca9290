/**
 * The values of an input series in Prometheus's notation, separated by spaces:
 * `5` a value, `1+2x3` 1 3 5 7, `9-1x2` 9 8 7, `4x2` 4 4 4, `_` a gap, `_x3` three of them, `stale` the series ends.
 */
import { readNumber } from "../../query/number.ts";

export interface InputPoint {
  readonly value: number;
  readonly stale: boolean;
}

const number = String.raw`(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`;
const word = "(?:[iI][nN][fF]|[nN][aA][nN])";
const single = new RegExp(`^([+-]?)(${number}|${word})$`);
const repeated = new RegExp(`^([+-]?)(${number})(?:([+-])(${number}))?x(\\d+)$`);
/** What a year of 15-second steps needs. */
const maxPoints = 2_200_000;

/** A gap is undefined. @throws Error with what is not understood. */
export function readPoints(text: string): (InputPoint | undefined)[] {
  const out: (InputPoint | undefined)[] = [];
  if (text.includes("{{")) throw new Error("native histograms are not supported");
  for (const item of text.trim().split(/[ \t\r\n]+/)) {
    if (item === "") continue;
    addItem(item, out);
    if (out.length > maxPoints) throw new Error(`more than ${maxPoints} values in one series`);
  }
  return out;
}

function addItem(item: string, out: (InputPoint | undefined)[]): void {
  const gaps = /^_(?:x(\d+))?$/.exec(item);
  if (gaps !== null) return times(Number(gaps[1] ?? 1), () => out.push(undefined));
  if (item === "stale") return void out.push({ value: Number.NaN, stale: true });
  const one = single.exec(item);
  if (one !== null) return void out.push({ value: signed(one[1], one[2]), stale: false });
  const many = repeated.exec(item);
  if (many === null)
    throw new Error(`"${item}" is not a value: write 5, 1+2x3, 4x2, _, _x3 or stale`);
  let value = signed(many[1], many[2]);
  const step = many[4] === undefined ? 0 : signed(many[3], many[4]);
  // Added up and not multiplied: the rounding is part of what tests expect.
  return times(Number(many[5]) + 1, () => {
    out.push({ value, stale: false });
    value += step;
  });
}

function times(count: number, work: () => void): void {
  if (count > maxPoints) throw new Error(`more than ${maxPoints} values in one series`);
  for (let index = 0; index < count; index++) work();
}

function signed(sign: string | undefined, digits = ""): number {
  const value = readNumber(digits);
  if (value === undefined) throw new Error(`"${digits}" is not a number`);
  return sign === "-" ? -value : value;
}
