/**
 * The one door behind every way in: how much may be under way, what may be kept, and what became of it. A bad series or
 * sample never takes the good ones of its request with it, and nothing is left uncounted.
 */
import { ProtoError } from "../../formats/protobuf/reader.ts";
import type { Metadata, SampleBatch } from "../../formats/samples/batch.ts";
import { defaultLabelLimits } from "../../formats/samples/labels.ts";
import { BatchTooLargeError, maxBatchSeries } from "../../formats/samples/limits.ts";
import type { SampleWriter } from "../../storage/history.ts";
import type { ClientKey } from "../../base/fair/client-key.ts";
import { loopTurns } from "../../base/fair/loop-turns.ts";
import type { Log } from "../../base/log.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import type { AppendResult } from "../../storage/embedded/options.ts";
import { type AdmissionLimits, IngestAdmission } from "./admission.ts";
import { BodyDecoder } from "./decode/body-decoder.ts";
import { ReceiveError } from "./failure.ts";
import type { ReceiverCounts, ReceiverName } from "./receiver-counts.ts";
import { type BadSeries, filterBatch, findBadSeries, hasSamplesAfter } from "./filter-batch.ts";
import { sliceLimits, slices } from "./slices.ts";
import type { RejectedSamples } from "./rejected-samples.ts";

/** As Prometheus's receiver: a clock may be a little ahead, a sample further on is a mistake that would hide the next ones. */
export const maxAheadMs = 10 * 60_000;
const maxMetadataText = 4_096;
const maxFamilyText = 1_024;

export interface IntakeOptions {
  readonly writer: SampleWriter;
  readonly metadata: { learn(entries: readonly Metadata[]): void };
  readonly received: ReceiverCounts;
  readonly log: Log;
  readonly nowMs: () => number;
  /** The history checks labels it has not seen by itself; one elsewhere does not. */
  readonly historyChecksLabels: boolean;
  readonly admission?: Partial<AdmissionLimits>;
}

export interface IngestResult {
  /** In the history now: those stored, and those that were there already. */
  readonly samples: number;
  readonly refused: RejectedSamples;
}

export class Intake {
  readonly admission: IngestAdmission;
  readonly decoder: BodyDecoder;
  readonly received: ReceiverCounts;
  readonly nowMs: () => number;
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.received = options.received;
    this.nowMs = options.nowMs;
    this.admission = new IngestAdmission(options.admission);
    this.decoder = new BodyDecoder(options.admission?.bytes);
  }

  /**
   * Keeps what may be kept of a batch, counts all of it, and resolves when the history answers for it. A large one is
   * kept in parts, with turns for others between them: where a later part fails, the earlier ones are there already.
   * @param client whose series they are, for the limit on series per client
   * @throws ReceiveError or BatchTooLargeError where it cannot be kept now or as a whole; sent again, nothing is doubled.
   */
  async keep(way: ReceiverName, batch: SampleBatch, client: ClientKey): Promise<IngestResult> {
    if (batch.seriesCount > maxBatchSeries) throw new BatchTooLargeError();
    const { historyChecksLabels, metadata, nowMs } = this.#options;
    const maxTimeMs = nowMs() + maxAheadMs;
    let written: WriteTally | undefined;
    try {
      // An engine elsewhere does the work in its own process, and gets as few requests as can be.
      for (const part of historyChecksLabels ? slices(batch, sliceLimits) : [batch]) {
        if (written !== undefined) await loopTurns.turn("ingest", client);
        written = sum(written, await this.#write(part, maxTimeMs, client.principal));
      }
    } catch (thrown) {
      throw this.#failure(thrown);
    }
    if (batch.metadata.length > 0) metadata.learn(batch.metadata.flatMap(bounded));
    return this.#count(way, batch, written ?? nothing);
  }

  async #write(batch: SampleBatch, maxTimeMs: number, client: string): Promise<WriteTally> {
    const { historyChecksLabels } = this.#options;
    const write = (part: SampleBatch): Promise<AppendResult> =>
      this.#options.writer.write(part, client);
    const bad = historyChecksLabels ? undefined : findBadSeries(batch, defaultLabelLimits);
    try {
      return await writeFiltered(write, batch, bad, maxTimeMs);
    } catch (thrown) {
      if (!(thrown instanceof ProtoError)) throw thrown;
      // Nothing was kept, and no series is left that could make it throw again.
      const found = findBadSeries(batch, defaultLabelLimits);
      return writeFiltered(write, batch, found, maxTimeMs);
    }
  }

  #count(
    way: ReceiverName,
    batch: SampleBatch,
    { result, bad, later, badTrouble }: WriteTally,
  ): IngestResult {
    const { received } = this.#options;
    received.add(way, "stored", result.stored);
    received.add(way, "duplicate", result.duplicates);
    received.add(way, "exemplar", batch.droppedExemplars);
    received.add(way, "native_histogram", batch.droppedHistograms);
    const refused: RejectedSamples = {
      conflict: result.refusedConflicts,
      too_old: result.refusedTooOld,
      too_new: later,
      limit: result.refusedByLimit,
      bad_labels: bad,
      ...(badTrouble === undefined ? {} : { badTrouble }),
      ...(result.reason === undefined ? {} : { engineTrouble: result.reason }),
    };
    for (const outcome of ["conflict", "too_old", "too_new", "limit", "bad_labels"] as const)
      received.add(way, outcome, refused[outcome]);
    return { samples: result.stored + result.duplicates, refused };
  }

  #failure(thrown: unknown): unknown {
    if (!(thrown instanceof StoreError)) return thrown;
    this.#options.log.warn("a write was refused", { error: thrown.message });
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
  /** What is wrong with the first bad label set. */
  readonly badTrouble?: string | undefined;
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
  { result, bad, later, badTrouble }: WriteTally,
): WriteTally {
  if (before === undefined) return { result, bad, later, badTrouble };
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
    badTrouble: before.badTrouble ?? badTrouble,
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
  const sifted = filterBatch(batch, bad?.flags, maxTimeMs);
  const result = await write(sifted.batch);
  return { result, bad: sifted.bad, later: sifted.later, badTrouble: bad?.problem };
}

/** What is told of a metric is kept for long: a copy that is cut holds on to nothing of the request. */
function bounded({ family, type, help, unit }: Metadata): Metadata[] {
  if (family.length > maxFamilyText) return [];
  return [{ family, type, help: cut(help), unit: cut(unit) }];
}

const cut = (text: string): string =>
  text.length <= maxMetadataText ? text : Buffer.from(text.slice(0, maxMetadataText)).toString();
