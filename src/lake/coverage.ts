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

/** The offsets of one log partition that one day of a table already has. */
export class DayCoverage {
  readonly #manifest: LakeManifest;
  readonly #of: DayPartition;
  #sequence: number | undefined;
  #stored: readonly OffsetRange[] = [];
  /** Offsets of rows that this process holds and will write. */
  readonly #claimed: OffsetRange[] = [];

  constructor(manifest: LakeManifest, of: DayPartition) {
    this.#manifest = manifest;
    this.#of = of;
  }

  /** Records offsets that this process holds, so that they are not added twice. */
  claim(range: OffsetRange): void {
    const before = this.#claimed.at(-1);
    if (before !== undefined && range.first <= before.last + 1 && range.first >= before.first)
      this.#claimed[this.#claimed.length - 1] = {
        ...before,
        last: Math.max(before.last, range.last),
      };
    else this.#claimed.push(range);
  }

  /** True if the offset is stored, or held by this process. */
  has(offset: number): boolean {
    return this.isStored(offset) || holds(this.#claimed, offset);
  }

  /** True if the offset was stored at the last refresh of the manifest. */
  isStored(offset: number): boolean {
    return holds(this.stored, offset);
  }

  get stored(): readonly OffsetRange[] {
    const { sequence, files, format } = this.#manifest;
    if (this.#sequence === sequence) return this.#stored;
    const folder = partitionFolder(this.#of.table, this.#of.date, format);
    const found: OffsetRange[] = [];
    for (const { path, origins = [] } of files.values())
      if (path.startsWith(folder)) found.push(...origins.filter((range) => isOf(range, this.#of)));
    this.#sequence = sequence;
    this.#stored = joinRanges(found);
    return this.#stored;
  }
}

export class Coverage {
  readonly #manifest: LakeManifest;
  readonly #days = new Map<string, DayCoverage>();

  constructor(manifest: LakeManifest) {
    this.#manifest = manifest;
  }

  /** The same object for the same partition and day: a writer looks it up once, not for every row. */
  day(of: DayPartition): DayCoverage {
    const key = keyOf(of);
    let day = this.#days.get(key);
    if (day === undefined) this.#days.set(key, (day = new DayCoverage(this.#manifest, of)));
    return day;
  }
}

const keyOf = ({ table, date, log, logId = "", partition }: DayPartition): string =>
  `${table}/${date}/${log}\u0000${logId}\u0000${partition}`;

function holds(ranges: readonly OffsetRange[], offset: number): boolean {
  for (const { first, last } of ranges) if (offset >= first && offset <= last) return true;
  return false;
}

const isOf = (
  { log, logId, partition }: Pick<OffsetRange, "log" | "logId" | "partition">,
  of: DayPartition,
): boolean =>
  log === of.log &&
  partition === of.partition &&
  (logId === undefined || of.logId === undefined || logId === of.logId);
