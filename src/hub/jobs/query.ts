/** Queries the ledger: open jobs from memory, closed ones from the day files, yielding to the event loop after each day. */
import { Bill, type BillGroup, type BillLine } from "../../runs/jobs/bill.ts";
import {
  dayMs,
  dayOf,
  type GpuDayBook,
  type JobHour,
  type JobRecord,
} from "../../runs/jobs/record.ts";
import type { Tariff } from "../../runs/jobs/tariff.ts";
import { type JobSummary, summarizeHeld, summarizeJob } from "../../view/jobs/summary.ts";
import { deviceKey } from "../../model/device.ts";
import type { HubJobs } from "./jobs.ts";

export interface JobSelection {
  readonly state?: "running" | "ended" | undefined;
  /** Matches any of these. */
  readonly users?: readonly string[] | undefined;
  readonly account?: string | undefined;
  readonly kind?: string | undefined;
  readonly host?: string | undefined;
  /** Selects jobs of this GPU; each result includes what it held of it. */
  readonly uuid?: string | undefined;
  /** Substring of its name or id. */
  readonly text?: string | undefined;
  readonly fromMs: number;
  readonly toMs: number;
  readonly limit: number;
  readonly offset: number;
}

/** How far back a short id is searched. */
const searchedDays = 400;

export class JobQueries {
  readonly #jobs: HubJobs;
  readonly #nowMs: () => number;

  constructor(jobs: HubJobs, nowMs: () => number) {
    this.#jobs = jobs;
    this.#nowMs = nowMs;
  }

  /** Newest first: running jobs, then ended ones. */
  async list(
    selection: JobSelection,
  ): Promise<{ readonly jobs: JobSummary[]; readonly total: number }> {
    const { limit, offset, state } = selection;
    const found: JobRecord[] = [];
    if (state !== "ended")
      for (const { record } of this.#jobs.openJobs())
        if (isSelected(record, selection)) found.push(record);
    found.sort((left, right) => right.startMs - left.startMs);
    if (state !== "running")
      for await (const { jobs } of this.#days(selection.fromMs, this.#nowMs() + dayMs, "newest"))
        found.push(
          ...[...jobs.values()]
            .filter((job) => isSelected(job, selection))
            .sort((left, right) => right.endMs - left.endMs),
        );
    return {
      jobs: found.slice(offset, offset + limit).map((job) => ({
        ...summarizeJob(job),
        ...(selection.uuid === undefined ? {} : { held: summarizeHeld(job, selection) }),
      })),
      total: found.length,
    };
  }

  /** Finds a job by its id, its key (`slurm:4711`) or the scheduler's number (`4711`); the newest match. */
  async find(id: string): Promise<JobRecord | undefined> {
    const fits = ({ id: own, key, name, scheduler }: JobRecord): boolean =>
      own === id || key === id || scheduler?.id === id || (scheduler === undefined && name === id);
    let newest: JobRecord | undefined;
    for (const { record } of this.#jobs.openJobs())
      if (fits(record) && record.startMs >= (newest?.startMs ?? 0)) newest = record;
    if (newest !== undefined) return newest;
    const nowMs = this.#nowMs();
    for await (const { jobs } of this.#days(
      nowMs - searchedDays * dayMs,
      nowMs + dayMs,
      "newest",
    )) {
      const exact = jobs.get(id);
      if (exact !== undefined) return exact;
      for (const job of jobs.values())
        if (fits(job) && job.startMs >= (newest?.startMs ?? 0)) newest = job;
      if (newest !== undefined) return newest;
    }
    return undefined;
  }

  async hoursOf(job: JobRecord): Promise<JobHour[]> {
    const hours: JobHour[] = [];
    for await (const day of this.#dayNames(job.startMs, job.endMs, "oldest"))
      hours.push(...(this.#jobs.files.readParts(day).get(job.id)?.hours ?? []));
    for (const open of this.#jobs.openJobs())
      if (open.record.id === job.id) hours.push(...open.hours());
    return hours;
  }

  async bill(options: {
    readonly by: BillGroup;
    readonly fromMs: number;
    readonly toMs: number;
    readonly price?: Tariff | undefined;
    readonly co2?: Tariff | undefined;
  }): Promise<BillLine[]> {
    const bill = new Bill(options);
    for await (const day of this.#dayNames(options.fromMs, options.toMs, "oldest"))
      for (const part of this.#jobs.files.readParts(day).values()) bill.add(part);
    for (const open of this.#jobs.openJobs()) bill.add(open.part(open.hours()));
    return bill.lines();
  }

  async books(fromMs: number, toMs: number): Promise<GpuDayBook[]> {
    // After a restart a finished book is open again until the GPU's next reading: it counts once.
    const books = new Map<string, GpuDayBook>();
    const add = (book: GpuDayBook): void =>
      void books.set(`${book.day} ${deviceKey(book.host, book.uuid)}`, book);
    for await (const day of this.#days(fromMs, toMs, "oldest"))
      for (const book of day.books.values()) add(book);
    const [from, to] = [dayOf(fromMs), dayOf(toMs)];
    for (const book of this.#jobs.openBooks()) if (book.day >= from && book.day <= to) add(book);
    return [...books.values()];
  }

  async *#days(fromMs: number, toMs: number, order: "oldest" | "newest") {
    for await (const day of this.#dayNames(fromMs, toMs, order)) yield this.#jobs.files.read(day);
  }

  /** Yields to the event loop after each day. */
  async *#dayNames(fromMs: number, toMs: number, order: "oldest" | "newest") {
    const [from, to] = [dayOf(fromMs), dayOf(toMs)];
    const days = this.#jobs.files.days().filter((day) => day >= from && day <= to);
    for (const day of order === "oldest" ? days : days.reverse()) {
      yield day;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function isSelected(job: JobRecord, selection: JobSelection): boolean {
  const { users, account, kind, host, uuid, text, fromMs, toMs } = selection;
  return (
    job.startMs < toMs &&
    (job.end === "open" || job.endMs >= fromMs) &&
    (users === undefined || (job.user !== undefined && users.includes(job.user))) &&
    (account === undefined || job.account === account) &&
    (kind === undefined || job.kind === kind) &&
    (host === undefined || job.stretches.some((stretch) => stretch.host === host)) &&
    (uuid === undefined || isHeldIn(summarizeHeld(job, selection), job, selection)) &&
    (text === undefined || job.name.includes(text) || job.id.includes(text))
  );
}

/** A job may have held the GPU during part of its runtime only. */
const isHeldIn = (
  held: JobSummary["held"],
  { end }: JobRecord,
  { fromMs, toMs }: JobSelection,
): boolean => held !== undefined && held.fromMs < toMs && (end === "open" || held.toMs >= fromMs);
