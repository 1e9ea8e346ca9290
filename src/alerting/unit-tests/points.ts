/**
 * The values of an input series in Prometheus's notation, separated by spaces:
 * `5` one value, `1+2x3` 1 3 5 7, `9-1x2` 9 8 7, `4x2` 4 4 4, `_` a gap, `_x3` three gaps, `stale` a staleness marker,
 * `{{count:2 sum:3 buckets:[2]}}` a native histogram, `{{…}}+{{…}}x3` a histogram and three sums.
 */
import { add, subtract } from "../../model/histogram/arithmetic.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { readHistogram } from "../../model/histogram/notation.ts";
import { readNumber } from "../../query/number.ts";

export interface InputPoint {
  /** NaN for a native histogram. */
  readonly value: number;
  readonly stale: boolean;
  readonly histogram?: Histogram | undefined;
}

const number = String.raw`(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?`;
const word = "(?:[iI][nN][fF]|[nN][aA][nN])";
const single = new RegExp(`^([+-]?)(${number}|${word})$`);
const repeated = new RegExp(`^([+-]?)(${number})(?:([+-])(${number}))?x(\\d+)$`);
/** Enough for a year of 15-second steps. */
const maxPoints = 2_200_000;

/** A gap is undefined. @throws Error that quotes the invalid part. */
export function readPoints(text: string): (InputPoint | undefined)[] {
  const out: (InputPoint | undefined)[] = [];
  for (const [item] of text.matchAll(/(?:\{\{[^}]*\}\}|[^ \t\r\n])+/g)) {
    addItem(item, out);
    if (out.length > maxPoints) throw new Error(`more than ${maxPoints} values in one series`);
  }
  return out;
}

function addItem(item: string, out: (InputPoint | undefined)[]): void {
  const gaps = /^_(?:x(\d+))?$/.exec(item);
  if (gaps !== null) return times(Number(gaps[1] ?? 1), () => out.push(undefined));
  if (item.startsWith("{{")) return addHistograms(item, out);
  if (item === "stale") return void out.push({ value: Number.NaN, stale: true });
  const one = single.exec(item);
  if (one !== null) return void out.push({ value: signed(one[1], one[2]), stale: false });
  const many = repeated.exec(item);
  if (many === null)
    throw new Error(`"${item}" is not a value: write 5, 1+2x3, 4x2, _, _x3 or stale`);
  let value = signed(many[1], many[2]);
  const step = many[4] === undefined ? 0 : signed(many[3], many[4]);
  // Added up and not multiplied: tests expect its rounding.
  return times(Number(many[5]) + 1, () => {
    out.push({ value, stale: false });
    value += step;
  });
}

const histograms = /^(\{\{[^}]*\}\})(?:(?:([+-])(\{\{[^}]*\}\}))?x(\d+))?$/;

function addHistograms(item: string, out: (InputPoint | undefined)[]): void {
  const found = histograms.exec(item);
  if (found === null)
    throw new Error(`"${item}" is not a histogram: write {{…}}, {{…}}x3 or {{…}}+{{…}}x3`);
  const [, first = "", sign, second, repeats = "0"] = found;
  let histogram = readHistogram(first);
  const step = second === undefined ? undefined : readHistogram(second);
  times(Number(repeats) + 1, () => {
    out.push({ value: Number.NaN, stale: false, histogram });
    if (step === undefined) return;
    const next = sign === "-" ? subtract(histogram, step) : add(histogram, step);
    if (next === undefined || histogram.schema > step.schema)
      throw new Error(`the second histogram of "${item}" has coarser buckets than the first`);
    histogram = next.histogram;
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
