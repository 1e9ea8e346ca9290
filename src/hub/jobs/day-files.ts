/**
 * Closed records of the ledger, in two files per day (UTC): jobs by the day they ended together with the energy books of the
 * GPUs, and the usage of each job in the hours of that day, which is all that a bill reads. Records are checksummed; a record
 * replaces an earlier one with the same key, so writing it again after a crash changes nothing. Jobs end one at a time: entries
 * wait for others, until they are read or the caller flushes, and are written together.
 *
 *   jobs/days/2026-11-18.log         records: [["job", {…}], ["book", {…}], …]
 *   jobs/days/2026-11-18.hours.log   records: [["part", {…}], …]
 */
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import type { Log } from "../../base/log.ts";
import { StateLog, type StateReader } from "../../base/state/state-log.ts";
import { deviceKey } from "../../model/device.ts";
import { bookSchema, isPart, jobSchema } from "../../runs/jobs/entry.ts";
import {
  dayOf,
  type GpuDayBook,
  type JobDayPart,
  type JobRecord,
  type LedgerOutput,
} from "../../runs/jobs/record.ts";

export interface DayContent {
  readonly jobs: ReadonlyMap<string, JobRecord>;
  readonly books: ReadonlyMap<string, GpuDayBook>;
}

type DayParts = ReadonlyMap<string, JobDayPart>;

type DayEntry =
  | readonly ["job", JobRecord]
  | readonly ["part", JobDayPart]
  | readonly ["book", GpuDayBook];

const entriesSchema = v.array(
  v.union([v.tuple([v.literal("job"), jobSchema]), v.tuple([v.literal("book"), bookSchema])]),
);

/** A day with an array job of 100,000 tasks has 100 MB. */
const maxFileBytes = 2 ** 30;
/** Files open for writing: today's, and yesterday's around midnight. */
const mostOpen = 4;
/** Size of the files whose content is cached. */
const mostCachedBytes = 64 * 2 ** 20;
/** Maximum entries per record. */
const recordEntries = 1_000;
/** Entries that wait to be written together. */
const mostWaiting = 256;
/** While the disk refuses writes, more than these are not kept. */
const mostUnwritten = 50_000;
const fileName = /^(\d{4}-\d{2}-\d{2})(?:\.hours)?\.log$/;
const [jobsEnding, hoursEnding] = [".log", ".hours.log"];

interface CachedFile<Content> {
  readonly bytes: number;
  readonly content: Content;
}

export class DayFiles {
  readonly #dir: string;
  readonly #log: Log;
  readonly #open = new Map<string, StateLog>();
  readonly #days = new Map<string, CachedFile<DayContent>>();
  readonly #parts = new Map<string, CachedFile<DayParts>>();
  /** By file. */
  readonly #waiting = new Map<string, DayEntry[]>();
  #waitingCount = 0;

  constructor(dir: string, log: Log) {
    this.#dir = dir;
    this.#log = log;
  }

  /** Throws if the disk refuses entries that waited; they are tried again with the next ones. */
  write({ jobs, parts, books }: LedgerOutput): void {
    for (const job of jobs) this.#add(dayOf(job.endMs) + jobsEnding, ["job", job]);
    for (const { day, part } of parts) this.#add(day + hoursEnding, ["part", part]);
    for (const book of books) this.#add(book.day + jobsEnding, ["book", book]);
    if (this.#waitingCount >= mostWaiting) this.flush();
  }

  /** Writes the entries that wait: call before the journal that has them is replaced. */
  flush(): void {
    try {
      for (const [name, entries] of this.#waiting) {
        for (const lot of lotsOf(entries)) this.#writer(name).append(lot);
        this.#waiting.delete(name);
        this.#waitingCount -= entries.length;
      }
    } catch (thrown) {
      if (this.#waitingCount >= mostUnwritten) {
        this.#waiting.clear();
        this.#waitingCount = 0;
      }
      throw thrown;
    }
  }

  #flushToRead(): void {
    try {
      this.flush();
    } catch {
      // What was written before can be read; the next write reports the failure.
    }
  }

  #add(name: string, entry: DayEntry): void {
    const entries = this.#waiting.get(name);
    if (entries === undefined) this.#waiting.set(name, [entry]);
    else entries.push(entry);
    this.#waitingCount++;
  }

  /** Days with a file, oldest first. */
  days(): string[] {
    this.#flushToRead();
    if (!existsSync(this.#dir)) return [];
    const days = readdirSync(this.#dir).flatMap((name) => fileName.exec(name)?.[1] ?? []);
    return [...new Set(days)].sort();
  }

  /** The jobs that ended on the day, and its books. */
  read(day: string): DayContent {
    return this.#read(day + jobsEnding, this.#days, () => new CollectedDay());
  }

  /** The usage of each job in the hours of the day, by job id. */
  readParts(day: string): DayParts {
    return this.#read(day + hoursEnding, this.#parts, () => new CollectedParts());
  }

  /** When the hours of the day last changed; 0 if there are none. */
  partsChangedMs(day: string): number {
    this.#flushToRead();
    const file = path.join(this.#dir, day + hoursEnding);
    return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  /** Replaces all records of the day, each file atomically. */
  replace(
    day: string,
    { jobs, books }: { readonly jobs: readonly JobRecord[]; readonly books: readonly GpuDayBook[] },
    parts: readonly JobDayPart[],
  ): void {
    const own: DayEntry[] = [
      ...jobs.map((job) => ["job", job] as const),
      ...books.map((book) => ["book", book] as const),
    ];
    this.#rewrite(
      day + hoursEnding,
      parts.map((part) => ["part", part] as const),
    );
    this.#rewrite(day + jobsEnding, own);
  }

  #rewrite(name: string, entries: readonly DayEntry[]): void {
    this.flush();
    if (entries.length === 0 && !existsSync(path.join(this.#dir, name))) return;
    this.#writer(name).rewrite(lotsOf(entries));
    // Evicts the cache: a file of the same size may have other content now.
    this.#days.delete(name);
    this.#parts.delete(name);
  }

  /** Deletes all days before this one. */
  deleteBefore(day: string): number {
    const old = this.days().filter((one) => one < day);
    for (const name of old.flatMap((one) => [one + jobsEnding, one + hoursEnding])) {
      this.#open.get(name)?.close();
      this.#open.delete(name);
      this.#days.delete(name);
      this.#parts.delete(name);
      rmSync(path.join(this.#dir, name), { force: true });
    }
    return old.length;
  }

  close(): void {
    this.flush();
    for (const writer of this.#open.values()) writer.close();
    this.#open.clear();
    this.#days.clear();
    this.#parts.clear();
  }

  #read<Content extends object>(
    name: string,
    cache: Map<string, CachedFile<Content>>,
    create: () => Content & StateReader,
  ): Content {
    this.#flushToRead();
    const file = path.join(this.#dir, name);
    if (!existsSync(file)) return create();
    const bytes = statSync(file).size;
    const cached = cache.get(name);
    if (cached?.bytes === bytes) return cached.content;
    const content = create();
    new StateLog(file, { log: this.#log, maxBytes: maxFileBytes }, content).close();
    cache.delete(name);
    if (bytes <= mostCachedBytes) cache.set(name, { bytes, content });
    let total = 0;
    for (const one of cache.values()) total += one.bytes;
    for (const [oldest, one] of cache) {
      if (total <= mostCachedBytes) break;
      cache.delete(oldest);
      total -= one.bytes;
    }
    return content;
  }

  #writer(name: string): StateLog {
    let writer = this.#open.get(name);
    if (writer !== undefined) return writer;
    const file = path.join(this.#dir, name);
    writer = new StateLog(file, { log: this.#log, maxBytes: maxFileBytes });
    this.#open.set(name, writer);
    const [oldest] = this.#open.keys();
    if (this.#open.size > mostOpen && oldest !== undefined) {
      this.#open.get(oldest)?.close();
      this.#open.delete(oldest);
    }
    return writer;
  }
}

function lotsOf(entries: readonly DayEntry[]): DayEntry[][] {
  const lots: DayEntry[][] = [];
  for (let at = 0; at < entries.length; at += recordEntries)
    lots.push(entries.slice(at, at + recordEntries));
  return lots;
}

class CollectedDay implements DayContent, StateReader {
  readonly jobs = new Map<string, JobRecord>();
  readonly books = new Map<string, GpuDayBook>();

  reset(): void {
    this.jobs.clear();
    this.books.clear();
  }

  record(payload: unknown): boolean {
    const parsed = v.safeParse(entriesSchema, payload);
    if (!parsed.success) return false;
    for (const entry of parsed.output) {
      if (entry[0] === "job") this.jobs.set(entry[1].id, entry[1]);
      else this.books.set(deviceKey(entry[1].host, entry[1].uuid), entry[1]);
    }
    return true;
  }
}

class CollectedParts extends Map<string, JobDayPart> implements StateReader {
  reset(): void {
    this.clear();
  }

  record(payload: unknown): boolean {
    if (!Array.isArray(payload)) return false;
    for (const entry of payload as readonly unknown[]) {
      const part: unknown = Array.isArray(entry) && entry[0] === "part" ? entry[1] : undefined;
      if (!isPart(part)) return false;
      this.set(part.id, part);
    }
    return true;
  }
}
