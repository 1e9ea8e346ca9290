/**
 * Tracks which offsets of a log a table already has for a day: those in the lake's commits and those in this process's memory.
 */
import type { Origin } from "../model/origin.ts";
import type { LakeManifest } from "./manifest.ts";
import { type OffsetRange, partitionFolder } from "./names.ts";
import { joinRanges } from "./ranges.ts";
import type { TableName } from "./table.ts";

/** A log partition within one day of a table. */
export interface DayPartition extends Pick<Origin, "log" | "logId" | "partition"> {
  readonly table: TableName;
  readonly date: string;
}

export class Coverage {
  readonly #manifest: LakeManifest;
  readonly #stored = new Map<
    string,
    { readonly sequence: number; readonly ranges: readonly OffsetRange[] }
  >();
  /** Offsets of rows that this process holds and will write. */
  readonly #claimed = new Map<string, OffsetRange[]>();

  constructor(manifest: LakeManifest) {
    this.#manifest = manifest;
  }

  /** Records offsets that this process holds, so that they are not added twice. */
  claim(of: DayPartition, range: OffsetRange): void {
    const key = keyOf(of);
    const known = this.#claimed.get(key);
    const before = known?.at(-1);
    if (known === undefined) this.#claimed.set(key, [range]);
    else if (before !== undefined && range.first <= before.last + 1 && range.first >= before.first)
      known[known.length - 1] = { ...before, last: Math.max(before.last, range.last) };
    else known.push(range);
  }

  /** True if the offset is stored, or held by this process. */
  has(of: DayPartition, offset: number): boolean {
    return this.isStored(of, offset) || (this.#claimed.get(keyOf(of)) ?? []).some(holds(offset));
  }

  /** True if the offset was stored at the last refresh of the manifest. */
  isStored(of: DayPartition, offset: number): boolean {
    return this.stored(of).some(holds(offset));
  }

  stored(of: DayPartition): readonly OffsetRange[] {
    const { sequence, files, format } = this.#manifest;
    const key = keyOf(of);
    const known = this.#stored.get(key);
    if (known?.sequence === sequence) return known.ranges;
    const folder = partitionFolder(of.table, of.date, format);
    const found: OffsetRange[] = [];
    for (const { path, origins = [] } of files.values())
      if (path.startsWith(folder)) found.push(...origins.filter((range) => isOf(range, of)));
    const ranges = joinRanges(found);
    this.#stored.set(key, { sequence, ranges });
    return ranges;
  }
}

const keyOf = ({ table, date, log, logId = "", partition }: DayPartition): string =>
  `${table}/${date}/${log}\u0000${logId}\u0000${partition}`;

const holds =
  (offset: number) =>
  ({ first, last }: OffsetRange): boolean =>
    offset >= first && offset <= last;

const isOf = (
  { log, logId, partition }: Pick<OffsetRange, "log" | "logId" | "partition">,
  of: DayPartition,
): boolean =>
  log === of.log &&
  partition === of.partition &&
  (logId === undefined || of.logId === undefined || logId === of.logId);
