/**
 * The job ledger: turns GPU ticks and scheduler reports into jobs with their GPU-seconds, energy and waste. A state machine
 * without I/O and without a clock: the same entries in the same order give the same records, so a log of entries is enough to
 * continue after a crash, and a repeated entry has no effect.
 */
import { JobAttempts, type Attempt, describe, endedMs, recordOf, shortHost } from "./attempts.ts";
import { DayBooks } from "./day-books.ts";
import type { SchedulerReport } from "./directory.ts";
import {
  energyShares,
  type GpuLedgerState,
  intervalBetween,
  idleTimeOf,
  memoryOf,
  type GpuHolder,
  type EnergyInterval,
  type Piece,
  scaled,
  splitInterval,
} from "./interval.ts";
import { defaultLedgerOptions, type LedgerOptions } from "./ledger-options.ts";
import { OpenJob, type OpenJobState } from "./open-job.ts";
import {
  dayOf,
  type GapReason,
  type GpuDayBook,
  type JobEnd,
  type JobRecord,
  type LedgerOutput,
} from "./record.ts";
import { PodControllers, type PodController } from "./pod-controllers.ts";
import { type GpuTick, tickKey } from "./tick.ts";
import type { TrackedGpu } from "./tracked-gpu.ts";
import { UsualTicks } from "./usual-ticks.ts";

/** A process is observed at most this long before the scheduler's start of its job, since clocks differ. */
const adoptMs = 60_000;

export type LedgerEntry =
  | readonly ["ticks", readonly GpuTick[]]
  | readonly ["report", SchedulerReport]
  | readonly ["clock", number]
  | readonly ["pods", readonly PodController[]]
  | readonly ["gpu", GpuLedgerState]
  | readonly ["job", OpenJobState]
  | readonly ["book", GpuDayBook];

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #gpus = new Map<string, TrackedGpu>();
  readonly #gpusByHost = new Map<string, TrackedGpu[]>();
  /** The last GPU that reported under a UUID: avoids building a key for every tick. */
  readonly #gpusByUuid = new Map<string, TrackedGpu>();
  readonly #open = new Map<string, OpenJob>();
  readonly #openByKey = new Map<string, string>();
  readonly #books = new DayBooks();
  readonly #attempts = new JobAttempts();
  readonly #controllers = new PodControllers();
  readonly #usualTicks: UsualTicks;
  #output: LedgerOutput = { jobs: [], parts: [], books: [] };
  #isFull = false;

  constructor(options: Partial<LedgerOptions> = {}) {
    this.#options = { ...defaultLedgerOptions, ...options };
    this.#usualTicks = new UsualTicks({
      ...this.#options,
      books: this.#books,
      openJob: (job, fromMs) => this.#jobOf({ job }, { fromMs }),
      addParts: (parts) => void this.#output.parts.push(...parts),
    });
  }

  get floorRatio(): number {
    return this.#options.floorRatio;
  }

  get gpuCount(): number {
    return this.#gpus.size;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** True while new jobs are not recorded because too many are open. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** The newest tick of a GPU. */
  lastTickOf({ host, uuid }: Pick<GpuTick, "host" | "uuid">): GpuTick | undefined {
    return this.#gpus.get(tickKey({ host, uuid }))?.last;
  }

  /** True if a scheduler has reported: its jobs start and end between ticks. */
  get hasScheduler(): boolean {
    return this.#attempts.asOfMs !== undefined;
  }

  /** True if a scheduler has reported the end of a job on this machine that is not closed yet. */
  hasEndedJobs(host: string): boolean {
    return this.#attempts.hasEnded(host);
  }

  apply(entry: LedgerEntry): LedgerOutput {
    switch (entry[0]) {
      case "ticks":
        for (const tick of entry[1]) this.#tick(tick);
        break;
      case "report":
        this.#report(entry[1]);
        break;
      case "pods":
        for (const pod of entry[1]) {
          const open = this.#open.get(this.#openByKey.get(this.#controllers.add(pod)) ?? "");
          if (open !== undefined) this.#controllers.describe(open.record);
        }
        break;
      case "clock":
        this.#expire(entry[1]);
        break;
      case "gpu":
        this.#track(entry[1]);
        break;
      case "job":
        this.#restoreJob(entry[1]);
        break;
      case "book":
        this.#books.restore(entry[1]);
    }
    const output = this.#output;
    this.#output = { jobs: [], parts: [], books: [] };
    return output;
  }

  /** Entries from which another ledger continues like this one. */
  *snapshot(): IterableIterator<LedgerEntry> {
    for (const { last, pending, settledMs } of this.#gpus.values())
      yield ["gpu", { last: { ...last, coveredFromMs: undefined }, pending, settledMs }];
    for (const open of this.#open.values()) yield ["job", open.state()];
    for (const book of this.#books.snapshot()) yield ["book", book];
    for (const report of this.schedulerReports()) yield ["report", report];
    const pods = this.#controllers.all();
    if (pods.length > 0) yield ["pods", pods];
  }

  /** The schedulers' data about jobs that are not closed, one report per cluster. */
  schedulerReports(): IterableIterator<SchedulerReport> {
    return this.#attempts.reports();
  }

  *openJobs(): IterableIterator<OpenJob> {
    yield* this.#open.values();
  }

  /** Books of the unfinished days; intervals that wait for a scheduler are counted as unattributed. */
  *openBooks(): IterableIterator<GpuDayBook> {
    for (const book of this.#books.all()) {
      const pending = this.#gpus.get(tickKey(book))?.pending ?? [];
      let [joules, seconds] = [0, 0];
      for (const interval of pending)
        for (const piece of splitInterval(interval, []))
          if (dayOf(piece.fromMs) === book.day) {
            joules += piece.joules;
            seconds += (piece.toMs - piece.fromMs) / 1_000;
          }
      yield joules === 0 && seconds === 0
        ? book
        : {
            ...book,
            unattributedJoules: book.unattributedJoules + joules,
            unattributedSeconds: book.unattributedSeconds + seconds,
            gaps: { ...book.gaps, scheduler_pending: { joules, seconds } },
          };
    }
  }

  #track(state: GpuLedgerState): TrackedGpu {
    const key = tickKey(state.last);
    const books = this.#books.of(key);
    const gpu: TrackedGpu = {
      ...state,
      key,
      books,
      jobs: new Set(),
      jobsGoOnUntilMs: 0,
      held: undefined,
    };
    this.#gpus.set(key, gpu);
    this.#gpusByUuid.set(state.last.uuid, gpu);
    const host = shortHost(state.last.host);
    this.#gpusByHost.set(host, [...(this.#gpusByHost.get(host) ?? []), gpu]);
    return gpu;
  }

  #restoreJob(state: OpenJobState): void {
    const open = OpenJob.restore(state, tickKey);
    this.#open.set(open.record.id, open);
    if (open.record.scheduler === undefined) this.#openByKey.set(open.record.key, open.record.id);
    for (const key of open.stretches.keys()) this.#gpus.get(key)?.jobs.add(open.record.id);
  }

  #tick(tick: GpuTick): void {
    const known = this.#find(tick);
    if (known === undefined) {
      this.#books.read(this.#books.of(tickKey(tick)), tick, undefined);
      this.#track({ last: tick, pending: [], settledMs: tick.timeMs });
      return;
    }
    const { last } = known;
    // A duplicate has an older or equal meter value too; after the clock was set back the value is higher.
    const isBack = tick.timeMs <= last.timeMs;
    if (isBack && (tick.meter !== last.meter || tick.joules <= last.joules)) return;
    known.last = tick;
    const isOtherMeter = tick.meter !== last.meter;
    const before = isOtherMeter ? { timeMs: tick.timeMs, joules: tick.joules } : last;
    this.#books.read(known.books, tick, before);
    const isUsual = !isBack && !isOtherMeter && this.#attempts.asOfMs === undefined;
    if (isUsual && this.#usualTicks.assign(known, last, tick)) {
      // One job, which was just observed: there is nothing to close.
      if (known.jobs.size > 1 || known.books.size > 1 || known.held === undefined)
        this.#finish(known);
      return;
    }
    known.pending.push(intervalBetween(last, tick, isOtherMeter, this.#options.gapMs));
    if (isBack) known.settledMs = tick.timeMs;
    this.#settle(known);
  }

  #find(tick: GpuTick): TrackedGpu | undefined {
    const last = this.#gpusByUuid.get(tick.uuid);
    if (last?.last.host === tick.host) return last;
    const found = this.#gpus.get(tickKey(tick));
    if (found !== undefined) this.#gpusByUuid.set(tick.uuid, found);
    return found;
  }

  #settle(gpu: TrackedGpu): void {
    const { asOfMs } = this.#attempts;
    const untilMs =
      asOfMs === undefined
        ? Number.POSITIVE_INFINITY
        : Math.max(asOfMs, gpu.last.timeMs - this.#options.maxHoldMs);
    while (gpu.pending[0] !== undefined && gpu.pending[0].toMs <= untilMs) {
      const [interval] = gpu.pending.splice(0, 1);
      if (interval !== undefined) this.#assign(gpu, interval);
    }
    this.#finish(gpu);
  }

  #finish(gpu: TrackedGpu): void {
    let settledMs = gpu.settledMs;
    // A clock was set back: what waits may belong to an earlier day than what is assigned.
    for (const { fromMs } of gpu.pending) settledMs = Math.min(settledMs, fromMs);
    for (const book of this.#books.takeFinished(gpu.books, settledMs))
      this.#output.books.push(book);
    this.#closeOn(gpu);
  }

  #assign(gpu: TrackedGpu, interval: EnergyInterval): void {
    const { after, flaw } = interval;
    gpu.settledMs = interval.toMs;
    // No time passed by the device's clock, so no holder can be determined.
    if (interval.fromMs >= interval.toMs)
      return this.#books.assign(
        gpu.books,
        after,
        interval.toMs,
        0,
        interval.joules,
        flaw ?? "no_readings",
      );
    const allocations = this.#attempts.allocationsOf(after.host, after.gpu);
    for (const piece of splitInterval(interval, allocations)) {
      const seconds = (piece.toMs - piece.fromMs) / 1_000;
      const jobs = piece.holders.flatMap((holder) => {
        const job = this.#jobOf(holder, piece);
        return job === undefined ? [] : [{ holder, job }];
      });
      if (jobs.length === 0) {
        const why: GapReason =
          flaw ??
          (piece.holders.length > 0
            ? "too_many_jobs"
            : interval.isGap
              ? "no_readings"
              : "owner_unknown");
        const part = piece.holders.length === 0 && piece.isIdle ? "idle" : why;
        this.#books.assign(gpu.books, after, piece.fromMs, seconds, piece.joules, part);
        continue;
      }
      this.#books.assign(gpu.books, after, piece.fromMs, seconds, piece.joules, "job");
      this.#hold(gpu, interval, piece, jobs);
    }
  }

  #hold(
    gpu: TrackedGpu,
    interval: EnergyInterval,
    piece: Piece,
    jobs: readonly { readonly holder: GpuHolder; readonly job: OpenJob }[],
  ): void {
    const { after, isGap } = interval;
    const part = (piece.toMs - piece.fromMs) / (interval.toMs - interval.fromMs);
    const { rule, shares } = energyShares(jobs.map(({ holder }) => holder));
    gpu.jobsGoOnUntilMs = 0;
    jobs.forEach(({ holder, job }, at) => {
      gpu.jobs.add(job.record.id);
      job.add(gpu.key, after, {
        fromMs: piece.fromMs,
        toMs: piece.toMs,
        joules: piece.joules * (shares[at] ?? 0),
        rule,
        isUnobserved: isGap,
        idle: isGap
          ? undefined
          : idleTimeOf(holder, interval, piece, jobs.length, this.#options.floorRatio),
        ...memoryOf(holder.owner, jobs.length === 1 && !holder.isGone ? after : undefined),
        tensorRatio: isGap ? undefined : after.tensorRatio,
        dramRatio: isGap ? undefined : after.dramRatio,
        activityRatio: isGap ? undefined : after.activityRatio,
        throttleSeconds: scaled(after.throttleSeconds, part),
        // Counted once, for the holders at the end of the interval, when it was observed.
        xids: piece.toMs === interval.toMs ? after.xids : undefined,
        anomalies: after.anomalies ?? [],
        neighbours: jobs
          .filter(({ job: other }) => other !== job)
          .map(({ job: { record } }) => record.id),
      });
      this.#output.parts.push(...job.takeParts(false));
    });
  }

  #jobOf({ id, job }: GpuHolder, { fromMs }: Pick<Piece, "fromMs">): OpenJob | undefined {
    const openId = id ?? (job === undefined ? undefined : this.#openByKey.get(job.key));
    const open = openId === undefined ? undefined : this.#open.get(openId);
    if (open !== undefined) return open;
    this.#isFull = this.#open.size >= this.#options.maxOpenJobs;
    if (this.#isFull) return undefined;
    const attempt = id === undefined ? undefined : this.#attempts.get(id);
    if (attempt !== undefined)
      return this.#adopt(attempt, fromMs) ?? this.#start(recordOf(attempt, fromMs));
    if (job === undefined) return undefined;
    const started = this.#start({
      ...job,
      // Milliseconds: a job that expired may be observed again in the second in which it started.
      id: `${job.key}@${fromMs / 1_000}`,
      startMs: fromMs,
      endMs: fromMs,
      end: "open",
      stretches: [],
    });
    this.#openByKey.set(job.key, started.record.id);
    return started;
  }

  /** The scheduler's report was late, and its job was known only by its processes: it continues under the scheduler's id. */
  #adopt(attempt: Attempt, fromMs: number): OpenJob | undefined {
    const seen = this.#open.get(this.#openByKey.get(`slurm:${attempt.job.id}`) ?? "");
    if (seen === undefined || (attempt.job.startMs ?? fromMs) > seen.record.startMs + adoptMs)
      return undefined;
    this.#open.delete(seen.record.id);
    this.#openByKey.delete(seen.record.key);
    const record = recordOf(attempt, fromMs);
    record.stretches.push(...seen.record.stretches);
    record.endMs = seen.record.endMs;
    const open = OpenJob.restore({ ...seen.state(), job: record }, tickKey);
    this.#open.set(record.id, open);
    for (const key of open.stretches.keys()) {
      const gpu = this.#gpus.get(key);
      if (gpu === undefined) continue;
      gpu.jobs.delete(seen.record.id);
      gpu.jobs.add(record.id);
      gpu.jobsGoOnUntilMs = 0;
      gpu.held = undefined;
    }
    return open;
  }

  #start(record: JobRecord): OpenJob {
    this.#controllers.describe(record);
    const open = new OpenJob(record);
    this.#open.set(record.id, open);
    return open;
  }

  #report(report: SchedulerReport): void {
    for (const id of this.#attempts.take(report)) {
      const open = this.#open.get(id);
      const attempt = this.#attempts.get(id);
      if (open !== undefined && attempt !== undefined) describe(open.record, attempt);
    }
    for (const gpu of this.#gpus.values()) this.#settle(gpu);
  }

  /** Closes jobs that are over on this GPU, if they are over everywhere. */
  #closeOn(gpu: TrackedGpu): void {
    if (this.#attempts.size === 0 && gpu.settledMs < gpu.jobsGoOnUntilMs) return;
    let goOnUntilMs = this.#attempts.size === 0 ? Number.POSITIVE_INFINITY : 0;
    for (const id of gpu.jobs) {
      const open = this.#open.get(id);
      const stretch = open?.stretches.get(gpu.key);
      if (open === undefined || stretch === undefined) {
        gpu.jobs.delete(id);
        continue;
      }
      const attempt = this.#attempts.get(id);
      const afterMs = attempt === undefined ? this.#options.closeAfterMs : 0;
      const untilMs = attempt === undefined ? stretch.stretch.toMs : endedMs(attempt.job);
      if (untilMs === undefined || gpu.settledMs < untilMs + afterMs) {
        goOnUntilMs = Math.min(goOnUntilMs, (untilMs ?? 0) + afterMs);
        continue;
      }
      stretch.isOver = true;
      if (attempt === undefined ? open.isOver : this.#isSettled(attempt))
        this.#close(open, "ended");
    }
    gpu.jobsGoOnUntilMs = goOnUntilMs;
    if (this.#attempts.size === 0) return;
    for (const id of this.#attempts.onHost(gpu.last.host)) {
      const attempt = this.#attempts.get(id);
      // A job that was not observed on any of our GPUs is recorded too.
      if (attempt === undefined || this.#open.has(id) || !this.#isSettled(attempt)) continue;
      this.#close(this.#start(recordOf(attempt, attempt.job.startMs ?? 0)), "ended");
    }
  }

  /** True if all GPUs that the job held have been assigned up to its end. */
  #isSettled({ job }: Attempt): boolean {
    const untilMs = endedMs(job);
    if (untilMs === undefined) return false;
    return (job.allocations ?? []).every(({ host, gpuIndexes }) => {
      const gpus = (this.#gpusByHost.get(shortHost(host)) ?? []).filter(
        ({ last }) => gpuIndexes === undefined || gpuIndexes.includes(last.gpu),
      );
      return gpus.length > 0 && gpus.every(({ settledMs }) => settledMs >= untilMs);
    });
  }

  #expire(nowMs: number): void {
    const { expireAfterMs } = this.#options;
    for (const open of this.#open.values())
      if (
        nowMs - open.record.endMs > expireAfterMs &&
        this.#isSilent(open, nowMs) &&
        !this.#runsStill(open, nowMs)
      )
        this.#close(open, "expired");
    for (const attempt of this.#attempts.all()) {
      const untilMs = endedMs(attempt.job);
      if (untilMs === undefined || nowMs - untilMs <= expireAfterMs) continue;
      if (!this.#open.has(attempt.id))
        this.#close(this.#start(recordOf(attempt, attempt.job.startMs ?? 0)), "expired");
    }
  }

  /** True for a job that its scheduler lists as running: closed now, its end would count its time once more. */
  #runsStill({ record: { id } }: OpenJob, nowMs: number): boolean {
    const attempt = this.#attempts.get(id);
    if (attempt === undefined || endedMs(attempt.job) !== undefined) return false;
    return nowMs - (this.#attempts.asOfMs ?? 0) <= this.#options.expireAfterMs;
  }

  #isSilent({ stretches }: OpenJob, nowMs: number): boolean {
    for (const key of stretches.keys()) {
      const gpu = this.#gpus.get(key);
      if (gpu !== undefined && nowMs - gpu.last.timeMs <= this.#options.expireAfterMs) return false;
    }
    return true;
  }

  #close(open: OpenJob, end: JobEnd): void {
    const { record } = open;
    record.end = end;
    const ended = record.scheduler && endedMs(record.scheduler);
    if (ended !== undefined) record.endMs = ended;
    if (ended !== undefined) open.addUnplaced(ended);
    this.#output.parts.push(...open.takeParts(true));
    this.#output.jobs.push(record);
    this.#open.delete(record.id);
    if (this.#openByKey.get(record.key) === record.id) this.#openByKey.delete(record.key);
    this.#attempts.forget(record.id);
    this.#controllers.forget(record.key);
    for (const key of open.stretches.keys()) this.#gpus.get(key)?.jobs.delete(record.id);
    this.#isFull = false;
  }
}
