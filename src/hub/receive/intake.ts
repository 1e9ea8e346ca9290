/**
 * The ingestion path that all receivers share: admission, decoding, validation, the write and its counters. A bad series or
 * sample never rejects the good ones of its request.
 */
import { ProtoError } from "../../formats/protobuf/reader.ts";
import {
  countRefused,
  type Metadata,
  ownBatch,
  type SampleBatch,
} from "../../formats/samples/batch.ts";
import {
  defaultLabelLimits,
  BatchTooLargeError,
  maxBatchSeries,
} from "../../formats/samples/labels.ts";
import type { ExemplarStore } from "../../storage/exemplars/exemplar-store.ts";
import type { SampleWriter } from "../../storage/history.ts";
import type { ClientKey } from "../../base/fair/client-key.ts";
import { loopTurns } from "../../base/fair/loop-turns.ts";
import { limitDebug, type Log } from "../../base/log.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import type { AppendResult } from "../../storage/embedded/options.ts";
import { type AdmissionLimits, IngestAdmission } from "./admission.ts";
import { BodyDecoder, defaultIngestWorkers } from "./decode/body-decoder.ts";
import { ReceiveError } from "./failure.ts";
import { countAppended, type ReceiverCounts, type ReceiverName } from "./receiver-counts.ts";
import { type BadSeries, filterBatch, findBadSeries, hasSamplesAfter } from "./filter-batch.ts";
import { sliceLimits, slices } from "./slices.ts";
import { StartSamples } from "./start-samples.ts";
import { startTimesOf } from "./start-times.ts";
import type { RejectedSamples } from "./rejected-samples.ts";

/** As in Prometheus's receiver: senders' clocks may be slightly ahead; a sample further ahead would make later ones out of order. */
const maxAheadMs = 10 * 60_000;
const maxMetadataText = 4_096;
const maxFamilyText = 1_024;

export interface IntakeOptions {
  readonly writer: SampleWriter;
  readonly metadata: { learn(entries: readonly Metadata[]): void };
  /** Absent if exemplars are not stored. */
  readonly exemplars?: ExemplarStore | undefined;
  readonly received: ReceiverCounts;
  readonly log: Log;
  readonly nowMs: () => number;
  /** The embedded store, which validates labels of new series and stores start times; absent for an external engine. */
  readonly store: SampleWriter | undefined;
  readonly admission?: Partial<AdmissionLimits> | undefined;
  /** Number of decoder threads; a default for this machine if absent. */
  readonly workers?: number | undefined;
  readonly ingest?: IngestOptions | undefined;
  /** Called with every batch once it is stored; must not retain it. */
  readonly onStored?: ((batch: SampleBatch) => void) | undefined;
}

/** How native histograms and start times are received. */
export interface IngestOptions {
  /** Bucket limit of native histograms; 0 for no limit. */
  readonly bucketLimit: number;
  /** Start times are decoded, for one of the next two. */
  readonly usesStarts: boolean;
  /** Stores a zero sample at the start of a counter or histogram. */
  readonly zeroAtStarts: boolean;
  /** Stores start times besides the samples; embedded store only. */
  readonly storesStarts: boolean;
  /** OTLP histograms with explicit bounds are converted to native ones with custom buckets. */
  readonly toCustomBuckets: boolean;
}

const defaultIngest: IngestOptions = {
  bucketLimit: 0,
  usesStarts: false,
  zeroAtStarts: false,
  storesStarts: false,
  toCustomBuckets: false,
};

export interface IngestResult {
  /** Samples stored now or before, native histograms included. */
  readonly samples: number;
  readonly histograms: number;
  readonly exemplars: number;
  readonly refused: RejectedSamples;
}

export class Intake {
  readonly admission: IngestAdmission;
  readonly decoder: BodyDecoder;
  readonly received: ReceiverCounts;
  readonly nowMs: () => number;
  readonly ingest: IngestOptions;
  readonly #options: IntakeOptions;
  readonly #starts: StartSamples | undefined;
  readonly #log: Log;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.#log = limitDebug(options.log, () => performance.now());
    this.received = options.received;
    this.nowMs = options.nowMs;
    const { workers = defaultIngestWorkers(), ingest = defaultIngest } = options;
    this.ingest = ingest;
    this.#starts = ingest.zeroAtStarts ? new StartSamples() : undefined;
    this.admission = new IngestAdmission({ ...options.admission, workers });
    this.decoder = new BodyDecoder({ bodiesBytes: options.admission?.bytes, workers });
  }

  /**
   * Stores the valid samples of a batch, counts all of them, and resolves when the history has committed. A large batch is
   * stored in slices, with other clients' slices in between: if a later slice fails, the earlier ones are stored already.
   * @param client the owner of new series, for the limit on series per client
   * @throws ReceiveError or BatchTooLargeError if it cannot be stored now or at all; a retry stores nothing twice.
   */
  async store(
    receiver: ReceiverName,
    received: SampleBatch,
    client: ClientKey,
  ): Promise<IngestResult> {
    if (received.seriesCount > maxBatchSeries) throw new BatchTooLargeError();
    const { store, metadata, nowMs, writer } = this.#options;
    const batch = writer.retainsBatches === true ? ownBatch(received) : received;
    const maxTimeMs = nowMs() + maxAheadMs;
    const startMs = performance.now();
    let written: WriteTally | undefined;
    try {
      await this.#writeZeros(batch, client.principal);
      await this.#writeStartTimes(batch, maxTimeMs, client);
      // An external engine does not block this process and gets as few requests as possible.
      for (const part of store !== undefined ? slices(batch, sliceLimits) : [batch]) {
        if (written !== undefined) await loopTurns.turn("ingest", client);
        written = sum(written, await this.#write(part, maxTimeMs, client.principal));
      }
    } catch (thrown) {
      throw this.#failure(thrown);
    }
    if (batch.metadata.length > 0) metadata.learn(batch.metadata.flatMap(bounded));
    this.#options.onStored?.(batch);
    const exemplars = this.#options.exemplars?.add(batch, maxTimeMs) ?? 0;
    const stored = { ...this.#count(receiver, batch, written ?? nothing), exemplars };
    // Scrapes have their own log line.
    if (this.#log.isDebug === true && receiver !== "scrape")
      this.#log.debug("write received", {
        receiver,
        client: client.principal,
        series: batch.seriesCount,
        samples: stored.samples,
        tookMs: Math.round((performance.now() - startMs) * 100) / 100,
      });
    return stored;
  }

  /** The zeros were not sent by the client, so their outcome is not counted. */
  async #writeZeros(batch: SampleBatch, client: string): Promise<void> {
    const zeros = this.#starts?.zerosOf(batch);
    if (zeros === undefined) return;
    try {
      await this.#options.writer.write(zeros, client);
    } catch (thrown) {
      this.#starts?.forget();
      // A series with bad labels is rejected together with the batch itself.
      if (!(thrown instanceof ProtoError)) throw thrown;
    }
  }

  /** Start times are stored before the samples, so that a sender's retry completes them. They go to no sink. */
  async #writeStartTimes(batch: SampleBatch, maxTimeMs: number, client: ClientKey): Promise<void> {
    const { store } = this.#options;
    if (store === undefined || !this.ingest.storesStarts) return;
    const times = startTimesOf(batch, maxTimeMs);
    if (times === undefined) return;
    for (const part of slices(times, sliceLimits)) {
      await store.write(part, client.principal);
      await loopTurns.turn("ingest", client);
    }
  }

  async #write(batch: SampleBatch, maxTimeMs: number, client: string): Promise<WriteTally> {
    const write = (part: SampleBatch): Promise<AppendResult> =>
      this.#options.writer.write(part, client);
    const bad =
      this.#options.store !== undefined ? undefined : findBadSeries(batch, defaultLabelLimits);
    try {
      return await writeFiltered(write, batch, bad, maxTimeMs);
    } catch (thrown) {
      if (!(thrown instanceof ProtoError)) throw thrown;
      // Nothing was stored; without the bad series the second attempt cannot fail this way.
      const found = findBadSeries(batch, defaultLabelLimits);
      return writeFiltered(write, batch, found, maxTimeMs);
    }
  }

  #count(
    receiver: ReceiverName,
    batch: SampleBatch,
    { result, bad, later, badProblem }: WriteTally,
  ): Omit<IngestResult, "exemplars"> {
    const { received } = this.#options;
    countAppended(received, receiver, result);
    received.add(receiver, "exemplar", batch.droppedExemplars);
    for (const { reason, count } of batch.refusedHistograms) received.add(receiver, reason, count);
    received.add(receiver, "too_new", later);
    received.add(receiver, "bad_labels", bad);
    return {
      samples: result.stored + result.duplicates,
      // A store reports rejected samples without their kind: in a partial write, floats are counted as rejected first.
      histograms: Math.min(batch.histograms?.length ?? 0, result.stored + result.duplicates),
      refused: {
        conflict: result.refusedConflicts,
        too_old: result.refusedTooOld,
        too_new: later,
        limit: result.refusedByLimit,
        bad_labels: bad,
        bad_histograms: countRefused(batch.refusedHistograms),
        histogramProblem: batch.refusedHistograms[0]?.problem,
        badProblem,
        engineProblem: result.reason,
      },
    };
  }

  #failure(thrown: unknown): unknown {
    if (!(thrown instanceof StoreError)) return thrown;
    this.#options.log.warn("write failed", { error: thrown.message });
    return new ReceiveError(
      thrown.retryable ? 503 : 500,
      "failed_request",
      thrown.message,
      "retry",
    );
  }
}

interface WriteTally {
  readonly result: AppendResult;
  readonly bad: number;
  readonly later: number;
  /** The problem of the first bad label set. */
  readonly badProblem?: string | undefined;
}

const nothing: WriteTally = {
  result: {
    stored: 0,
    late: 0,
    duplicates: 0,
    refusedConflicts: 0,
    refusedTooOld: 0,
    refusedByLimit: 0,
    refusals: [],
  },
  bad: 0,
  later: 0,
};

function sum(
  before: WriteTally | undefined,
  { result, bad, later, badProblem }: WriteTally,
): WriteTally {
  if (before === undefined) return { result, bad, later, badProblem };
  const all = before.result;
  const reason = all.reason ?? result.reason;
  return {
    result: {
      stored: all.stored + result.stored,
      late: all.late + result.late,
      duplicates: all.duplicates + result.duplicates,
      refusedConflicts: all.refusedConflicts + result.refusedConflicts,
      refusedTooOld: all.refusedTooOld + result.refusedTooOld,
      refusedByLimit: all.refusedByLimit + result.refusedByLimit,
      refusals: all.refusals,
      ...(reason === undefined ? {} : { reason }),
    },
    bad: before.bad + bad,
    later: before.later + later,
    badProblem: before.badProblem ?? badProblem,
  };
}

async function writeFiltered(
  write: (batch: SampleBatch) => Promise<AppendResult>,
  batch: SampleBatch,
  bad: BadSeries | undefined,
  maxTimeMs: number,
): Promise<WriteTally> {
  if (bad === undefined && !hasSamplesAfter(batch, maxTimeMs))
    return { result: await write(batch), bad: 0, later: 0 };
  const filtered = filterBatch(batch, bad?.flags, maxTimeMs);
  const result = await write(filtered.batch);
  return { result, bad: filtered.bad, later: filtered.later, badProblem: bad?.problem };
}

/** Metadata is long-lived: the truncated copy must not reference the request. */
function bounded({ family, type, help, unit }: Metadata): Metadata[] {
  if (family.length > maxFamilyText) return [];
  return [{ family, type, help: cut(help), unit: cut(unit) }];
}

const cut = (text: string): string =>
  text.length <= maxMetadataText ? text : Buffer.from(text.slice(0, maxMetadataText)).toString();
