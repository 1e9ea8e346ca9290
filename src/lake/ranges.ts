/** Ranges of a log's offsets as stored in files and commits, and how to join and subtract them. */
import * as v from "valibot";
import type { OffsetRange } from "./names.ts";
import { metadataKeys } from "./schema.ts";

export const originsSchema = v.array(
  v.object({
    log: v.string(),
    logId: v.optional(v.string()),
    partition: v.number(),
    first: v.number(),
    last: v.number(),
  }),
);

/** The offsets in a file's footer; none for files whose rows are not from a log. */
export const readOrigins = (metadata: Readonly<Record<string, string>>): OffsetRange[] =>
  v.parse(originsSchema, JSON.parse(metadata[metadataKeys.origins] ?? "[]"));

/** Joins ranges that touch or overlap. */
export function joinRanges(ranges: readonly OffsetRange[]): OffsetRange[] {
  const sorted = [...ranges].sort(
    (a, b) =>
      compareText(a.log, b.log) ||
      compareText(a.logId ?? "", b.logId ?? "") ||
      a.partition - b.partition ||
      a.first - b.first,
  );
  const joined: OffsetRange[] = [];
  for (const range of sorted) {
    const before = joined.at(-1);
    if (
      before?.log === range.log &&
      before.logId === range.logId &&
      before.partition === range.partition &&
      range.first <= before.last + 1
    )
      joined[joined.length - 1] = { ...before, last: Math.max(before.last, range.last) };
    else joined.push(range);
  }
  return joined;
}

/** The parts of a range that are in none of the others. */
export function subtractRanges(
  range: OffsetRange,
  others: readonly Pick<OffsetRange, "first" | "last">[],
): OffsetRange[] {
  const left: OffsetRange[] = [];
  let { first } = range;
  for (const other of [...others].sort((a, b) => a.first - b.first)) {
    if (other.last < first || other.first > range.last) continue;
    if (other.first > first) left.push({ ...range, first, last: other.first - 1 });
    first = other.last + 1;
  }
  if (first <= range.last) left.push({ ...range, first });
  return left;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
