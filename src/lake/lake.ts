/** Writes a lake: rows to Parquet files, with merging of small files, retention and an optional mirror. */
import { formatError } from "../base/error.ts";
import type { FileStore } from "../net/objects/store.ts";
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { Log } from "../base/log.ts";
import type { Origin } from "../model/origin.ts";
import type { FrameRows } from "./gather.ts";
import { LakeClock } from "./clock.ts";
import { type LakeFormat, pendingFolder } from "./commit.ts";
import { LakeManifest } from "./manifest.ts";
import { mirrorLake } from "./mirror.ts";
import { safeName } from "./names.ts";
import { type LakeRetention, Upkeep } from "./upkeep.ts";
import { type LakeWorker, openLakeWorker } from "./job.ts";
import { type LakeCounts, LakeWriter } from "./writer.ts";

export interface LakeOptions {
  readonly files: FileStore;
  /** The name of the machine or the pipe. */
  readonly name: string;
  readonly version: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly random: () => number;
  /** Which small files are merged: all, only those this process wrote, or none. */
  readonly merge: "all" | "own" | "none";
  readonly retentionMs?: number;
  /** The clock for retention; the lake's own clock if absent. */
  readonly trustedNowMs?: () => number;
  readonly mirror?: FileStore;
  readonly maxRows?: number;
  readonly maxBytes?: number;
  readonly series?: boolean;
  readonly workers?: LakeWorker;
  readonly format?: LakeFormat;
  readonly snapshotsMs?: number;
  readonly location?: string;
}

/** Upkeep runs after this many new files. */
const filesBetweenUpkeep = 16;

export class Lake {
  readonly files: FileStore;
  readonly #options: LakeOptions;
  readonly #writer: LakeWriter;
  readonly #upkeep: Upkeep;
  readonly #workers: LakeWorker;
  readonly #own = new Set<string>();
  readonly #id: string;
  #clock: LakeClock | undefined;
  readonly #closing = new AbortController();
  #upkeepFiles = 0;
  #keeping: Promise<void> | undefined;

  constructor(options: LakeOptions) {
    this.#options = options;
    this.files = options.files;
    this.#workers = options.workers ?? openLakeWorker();
    // Two pipes of one machine may start in the same millisecond.
    this.#id = `${safeName(options.name)}_${Math.floor(options.random() * 0x1_0000_0000).toString(36)}`;
    const manifest = new LakeManifest(options);
    const shared = {
      ...options,
      workers: this.#workers,
      id: this.#id,
      manifest,
      ...this.#retention(),
    };
    const onWritten = (path: string): void => void this.#own.add(path);
    this.#writer = new LakeWriter({ ...shared, onWritten });
    const mine = (path: string): boolean => this.#own.has(path);
    this.#upkeep = new Upkeep(
      options.merge === "own" ? { ...shared, only: mine, onWritten } : shared,
    );
  }

  get counts(): Readonly<LakeCounts> {
    return this.#writer.counts;
  }

  get heldBytes(): number {
    return this.#writer.heldBytes;
  }

  take(frame: FrameRows, origin: Origin | undefined, signal: AbortSignal): Promise<void> {
    return this.#writer.take(frame, origin, signal);
  }

  put(frame: FrameRows): void {
    this.#writer.put(frame);
  }

  putSamples(batch: SampleBatch): void {
    this.#writer.putSamples(batch);
  }

  dropOldest(): number {
    return this.#writer.dropOldest();
  }

  /**
   * Finishes commits that a killed process left half published, and fails if the lake is not writable: at the start, not at the
   * first roll.
   */
  async open(): Promise<void> {
    await this.#upkeep.finish();
    const probe = `${pendingFolder}probe-${this.#id}`;
    await this.files.write(probe, new Uint8Array());
    await this.files.remove(probe);
  }

  /** When it resolves, all accepted rows are in files. */
  async flush(signal: AbortSignal): Promise<void> {
    await this.#writer.flush(signal);
    if (this.counts.files - this.#upkeepFiles >= filesBetweenUpkeep) this.#keepSoon();
  }

  /** Merges, applies retention and mirrors; failures are logged and retried the next time, since no row depends on it. */
  async keep(signal: AbortSignal = this.#closing.signal): Promise<void> {
    await this.#keeping;
    this.#keepSoon(signal);
    await this.#keeping;
  }

  async close(signal: AbortSignal): Promise<void> {
    try {
      await this.#writer.flush(signal);
      await this.keep(signal);
    } finally {
      this.#closing.abort();
      this.#clock?.close();
      await this.#keeping;
      await this.#workers.close();
      this.files.close();
      this.#options.mirror?.close();
    }
  }

  #retention(): { readonly retention?: LakeRetention } {
    const { retentionMs: ms, trustedNowMs } = this.#options;
    if (ms === undefined) return {};
    if (trustedNowMs !== undefined) return { retention: { ms, trustedNowMs } };
    const clock = new LakeClock(this.#options);
    this.#clock = clock;
    return { retention: { ms, trustedNowMs: () => clock.nowMs() } };
  }

  #keepSoon(signal = this.#closing.signal): void {
    this.#upkeepFiles = this.counts.files;
    this.#keeping ??= this.#keep(signal).finally(() => (this.#keeping = undefined));
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { merge, mirror, log } = this.#options;
    try {
      if (merge !== "none") await this.#upkeep.run(signal);
      if (mirror !== undefined) await mirrorLake(this.files, mirror, signal);
    } catch (thrown) {
      if (!signal.aborted)
        log.warn("lake maintenance failed", {
          place: this.files.name,
          error: formatError(thrown),
        });
    }
  }
}
