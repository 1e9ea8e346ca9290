/**
 * The hub's job ledger: fed by every frame that storage accepted and by the schedulers' reports. Each entry is in the journal
 * before it is applied, so acknowledged data survives a kill; a journal that has grown is replaced by a snapshot.
 *
 *   jobs/journal      snapshot, then the entries since
 *   jobs/days/*.log   closed records
 */
import { randomBytes } from "node:crypto";
import path from "node:path";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { StateLog } from "../../base/state/state-log.ts";
import type { PutMetric } from "../../model/self-frames.ts";
import { self } from "../../model/catalogue/index.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { isClosed } from "../../runs/jobs/day-books.ts";
import type { JobDirectory } from "../../runs/jobs/directory.ts";
import { parseEntry } from "../../runs/jobs/entry.ts";
import { FrameTicks } from "../../runs/jobs/frame-ticks.ts";
import type { FrameTicksOptions } from "../../runs/jobs/frame-ticks-options.ts";
import { Ledger, type LedgerEntry } from "../../runs/jobs/ledger.ts";
import type { PodController } from "../../runs/jobs/pod-controllers.ts";
import { TickCodec, type UnchangedGpus } from "../../runs/jobs/tick-codec.ts";
import type { LedgerOptions } from "../../runs/jobs/ledger-options.ts";
import type { OpenJob } from "../../runs/jobs/open-job.ts";
import { dayMs, dayOf, type GpuDayBook, type LedgerOutput } from "../../runs/jobs/record.ts";
import { DayFiles } from "./day-files.ts";
import { readKey } from "./key-file.ts";
import { Pseudonyms } from "./privacy.ts";

export interface HubJobsOptions {
  readonly dataDir: string;
  /** Retention of closed jobs. */
  readonly retentionMs: number;
  readonly log: Log;
  readonly nowMs: () => number;
  /** A clock that follows no jump of the wall clock, for deletions. */
  readonly trustedNowMs: () => number;
  readonly directories?: readonly JobDirectory[];
  readonly anomaliesOf?: FrameTicksOptions["anomaliesOf"];
  /** True if closed records contain pseudonyms instead of user names. */
  readonly isPseudonymous?: boolean;
  readonly ledger?: Partial<LedgerOptions>;
  /** Growth of the journal after which a snapshot replaces it. */
  readonly checkpointBytes?: number;
}

const defaultCheckpointBytes = 16 * 2 ** 20;
const maxJournalBytes = 2 ** 30;
const upkeepEveryMs = 600_000;
/** How long readings that change nothing are added up before they are booked; the second if someone waits for them. */
const [mostDelayMs, shortDelayMs] = [300_000, 60_000];

export class HubJobs {
  readonly ledger: Ledger;
  readonly files: DayFiles;
  readonly #options: HubJobsOptions;
  readonly #ticks: FrameTicks;
  readonly #journal: StateLog;
  readonly #codec = new TickCodec();
  readonly #ends: (() => void)[] = [];
  /** Finished books that do not balance, by GPU: the day of the last one. */
  readonly #unclosed = new Map<string, string>();
  #pseudonyms: Pseudonyms | undefined;
  /** The result of the last `describePods`. */
  #pods: ReadonlyMap<string, string> = new Map();
  #snapshotBytes = 0;
  #isPrompt = false;
  #isFailing = false;
  #failures = 0;

  constructor(options: HubJobsOptions) {
    this.#options = options;
    const { dataDir, log, directories = [] } = options;
    this.ledger = new Ledger(options.ledger);
    this.files = new DayFiles(path.join(dataDir, "jobs", "days"), log);
    this.#ticks = new FrameTicks({
      anomaliesOf: options.anomaliesOf,
      lastTickOf: (gpu) => this.ledger.lastTickOf(gpu),
      floorRatio: this.ledger.floorRatio,
      isUrgent: (host) => this.ledger.hasEndedJobs(host),
      mostDelayMs: () => (this.#isPrompt || this.ledger.hasScheduler ? shortDelayMs : mostDelayMs),
      indexOf: (key) => this.#codec.indexOf(key),
    });
    const closed: LedgerOutput = { jobs: [], parts: [], books: [] };
    this.#journal = new StateLog(
      path.join(dataDir, "jobs", "journal"),
      { log, maxBytes: maxJournalBytes },
      {
        reset: () => {},
        record: (payload) => {
          const entry = this.#parse(payload);
          if (entry !== undefined) addOutput(closed, this.ledger.apply(entry));
          return entry !== undefined;
        },
      },
    );
    this.#applyReadings(closed);
    this.#settle(closed);
    const earlier = [...this.ledger.schedulerReports()];
    for (const directory of directories)
      this.#ends.push(directory.subscribe((report) => this.enter(["report", report]), earlier));
    const timer = setInterval(() => this.upkeep(), upkeepEveryMs).unref();
    this.#ends.push(() => clearInterval(timer));
  }

  get pseudonyms(): Pseudonyms {
    const file = path.join(this.#options.dataDir, "jobs", "pseudonym.key");
    return (this.#pseudonyms ??= new Pseudonyms(readKey(file, randomBytes)));
  }

  /** The names under which records of this user are stored. */
  namesOf(user: string): readonly string[] {
    return this.#options.isPseudonymous === true ? [user, this.pseudonyms.of(user)] : [user];
  }

  /** Errors of schedulers that currently fail to report, with their names. */
  problems(): string[] {
    return (this.#options.directories ?? []).flatMap(({ name, problem }) =>
      problem === undefined ? [] : [`${name}: ${problem}`],
    );
  }

  /** Frames of scraped agents are stored as samples, so they are booked when they are shown. */
  watch(frames: { subscribe(listener: (delivery: Delivery) => void): () => void }): void {
    this.#ends.push(
      frames.subscribe((delivery) => {
        if (delivery.isExposed === false) this.take(delivery);
      }),
    );
  }

  /** Call with every frame that storage accepted, before its sender is acknowledged. Never throws. */
  readonly take = (delivery: Delivery): void => {
    // History read from another program arrives one metric at a time, after newer samples.
    if (delivery.isExposed === false && delivery.tier === "stream") return;
    try {
      const { ticks, unchanged } = this.#ticks.take(delivery);
      if (ticks.length > 0 || unchanged !== undefined) this.#enter(["ticks", ticks], unchanged);
    } catch (thrown) {
      this.#fail("a frame could not be booked", thrown);
    }
  };

  /** Call when an anomaly of a GPU begins: it could be over before the next tick. @param key the GPU's `deviceKey` */
  noteAnomaly(key: string): void {
    this.#ticks.tickNext(key);
  }

  /** Books readings within a minute from now on, for a reader of the ledger that does not flush. */
  bookPromptly(): void {
    this.#isPrompt = true;
  }

  /** Call with the pods read from Kubernetes; only changes are recorded. */
  readonly describePods = (pods: readonly PodController[]): void => {
    const described = new Map<string, string>(
      pods.map((pod) => [`${pod.namespace}/${pod.pod}`, JSON.stringify(pod)] as const),
    );
    const news = pods.filter(({ namespace, pod }) => {
      const key = `${namespace}/${pod}`;
      return this.#pods.get(key) !== described.get(key);
    });
    if (news.length === 0) return;
    this.enter(["pods", news]);
    this.#pods = described;
  };

  /** Ends jobs whose GPUs have been silent for long, and deletes records past their retention. */
  upkeep(): void {
    const { trustedNowMs, retentionMs, log } = this.#options;
    this.enter(["clock", trustedNowMs()]);
    try {
      this.files.flush();
      const deleted = this.files.deleteBefore(dayOf(trustedNowMs() - retentionMs));
      if (deleted > 0) log.info("deleted job records past their retention", { days: deleted });
    } catch (thrown) {
      this.#fail("job records could not be written or deleted", thrown);
    }
  }

  readonly selfMetrics = (put: PutMetric): void => {
    put(self.jobsOpen, this.ledger.openCount);
    put(self.jobsJournalBytes, this.#journal.sizeBytes);
    put(self.jobsFailures, this.#failures);
    put(self.jobsUnclosedBooks, this.unclosedBooks());
  };

  /** Number of GPUs whose book of today or yesterday does not balance. */
  unclosedBooks(): number {
    const gpus = new Set<string>();
    for (const book of this.ledger.openBooks()) if (!isClosed(book)) gpus.add(book.uuid);
    const since = dayOf(this.#options.nowMs() - dayMs);
    for (const [uuid, day] of this.#unclosed) {
      if (day >= since) gpus.add(uuid);
      else this.#unclosed.delete(uuid);
    }
    return gpus.size;
  }

  /** Books pending frames and unchanged readings that were deferred. Never throws. */
  flush(): void {
    const ticks = this.#ticks.flush();
    if (ticks.length > 0) this.enter(["ticks", ticks]);
  }

  /** Running jobs, up to the last frame of their GPUs. */
  openJobs(): IterableIterator<OpenJob> {
    this.flush();
    return this.ledger.openJobs();
  }

  openBooks(): IterableIterator<GpuDayBook> {
    this.flush();
    return this.ledger.openBooks();
  }

  /** Replaces the journal with a snapshot. */
  checkpoint(): void {
    this.#write(this.ledger.apply(["ticks", this.#ticks.flush()]));
    this.files.flush();
    this.#journal.rewrite(this.ledger.snapshot());
    this.#codec.reset();
    this.#ticks.restart();
    this.#snapshotBytes = this.#journal.sizeBytes;
  }

  close(): void {
    for (const end of this.#ends.splice(0)) end();
    try {
      this.checkpoint();
      this.files.close();
    } catch (thrown) {
      this.#fail("the job ledger could not be checkpointed", thrown);
    }
    this.#journal.close();
  }

  /** Writes an entry to the journal, then applies it to the ledger. Never throws. */
  enter(entry: LedgerEntry): void {
    this.#enter(entry);
  }

  #enter(entry: LedgerEntry, unchanged?: UnchangedGpus): void {
    try {
      this.#append(entry, unchanged);
      this.#isFailing = false;
    } catch (thrown) {
      // Applied nevertheless: the meters make up for it if the disk recovers before a crash.
      this.#fail("the job ledger could not be written", thrown);
    }
    try {
      if (entry[0] !== "ticks" || entry[1].length > 0) this.#write(this.ledger.apply(entry));
      const { checkpointBytes = defaultCheckpointBytes } = this.#options;
      if (this.#journal.sizeBytes > checkpointBytes + 2 * this.#snapshotBytes) this.checkpoint();
    } catch (thrown) {
      this.#fail("the job ledger could not be written", thrown);
    }
  }

  #append(entry: LedgerEntry, unchanged: UnchangedGpus | undefined): void {
    if (entry[0] !== "ticks") return this.#journal.append(entry);
    const { bytes, payloadBytes } = this.#codec.encode(entry[1], unchanged);
    try {
      this.#journal.appendBytes(bytes, payloadBytes);
    } catch (thrown) {
      // Shapes defined in the failed write are missing in the journal.
      this.#codec.reset();
      this.#ticks.restart();
      throw thrown;
    }
  }

  /** Returns undefined for an entry of an unknown format. Earlier versions wrote ticks as JSON. */
  #parse(payload: unknown): LedgerEntry | undefined {
    if (!(payload instanceof Uint8Array)) return parseEntry(payload);
    const ticks = this.#codec.decode(payload);
    return ticks && ["ticks", ticks];
  }

  /** Applies the readings after the last ticks of the journal, and notes in it that no later tick includes them. */
  #applyReadings(closed: LedgerOutput): void {
    const ticks = this.#codec.takeReadings();
    if (ticks.length === 0) return;
    addOutput(closed, this.ledger.apply(["ticks", ticks]));
    try {
      this.#append(["ticks", []], undefined);
    } catch (thrown) {
      this.#fail("the job ledger could not be written", thrown);
    }
  }

  /**
   * Writes what the replay of the journal closed, as the day files may lack it. The snapshot keeps the next start from closing
   * it again: a hub that is killed often would write every job of the day at every start.
   */
  #settle(closed: LedgerOutput): void {
    if (closed.jobs.length + closed.parts.length + closed.books.length === 0) return;
    try {
      this.#write(closed);
      this.checkpoint();
    } catch (thrown) {
      this.#fail("the job ledger could not be written", thrown);
    }
  }

  #write(output: LedgerOutput): void {
    // Most ticks close nothing.
    if (output.jobs.length + output.parts.length + output.books.length === 0) return;
    this.files.write(this.#options.isPseudonymous === true ? this.pseudonyms.hide(output) : output);
    for (const book of output.books) if (!isClosed(book)) this.#unclosed.set(book.uuid, book.day);
  }

  #fail(message: string, thrown: unknown): void {
    this.#failures++;
    if (!this.#isFailing) this.#options.log.error(message, { error: formatError(thrown) });
    this.#isFailing = true;
  }
}

function addOutput(to: LedgerOutput, { jobs, parts, books }: LedgerOutput): void {
  to.jobs.push(...jobs);
  to.parts.push(...parts);
  to.books.push(...books);
}
