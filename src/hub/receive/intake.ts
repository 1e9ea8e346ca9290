/**
 * The one door behind every way in: how much may be under way, what may be kept, and what became of it. A bad series or
 * sample never takes the good ones of its request with it, and nothing is left uncounted.
 */
import { ProtoError } from "../../formats/protobuf/reader.ts";
import type { Metadata, SampleBatch } from "../../formats/samples/batch.ts";
import { defaultLabelLimits } from "../../formats/samples/labels.ts";
import { BatchTooLarge, maxBatchSeries } from "../../formats/samples/limits.ts";
import type { History } from "../../history/history.ts";
import type { Log } from "../../log/log.ts";
import { StoreError } from "../../store/error.ts";
import type { AppendResult } from "../../store/options.ts";
import { Admission } from "./admission.ts";
import type { AdmissionLimits } from "./admission.ts";
import { ReceiveFailure } from "./failure.ts";
import type { Received, Way } from "./received.ts";
import type { BadSeries } from "./sift.ts";
import { findBadSeries, hasLater, sift } from "./sift.ts";
import type { Refusals } from "./tell.ts";

/** As Prometheus's receiver: a clock may be a little ahead, a sample further on is a mistake that would hide the next ones. */
export const maxAheadMs = 10 * 60_000;
const maxMetadataText = 4_096;
const maxFamilyText = 1_024;

export interface IntakeOptions {
  readonly history: History;
  readonly metadata: { learn(entries: readonly Metadata[]): void };
  readonly received: Received;
  readonly log: Log;
  readonly nowMs: () => number;
  /** The history checks labels it has not seen by itself; one elsewhere does not. */
  readonly historyChecksLabels: boolean;
  readonly admission?: Partial<AdmissionLimits>;
}

export interface Kept {
  /** In the history now: those stored, and those that were there already. */
  readonly samples: number;
  readonly refused: Refusals;
}

export class Intake {
  readonly admission: Admission;
  readonly received: Received;
  readonly nowMs: () => number;
  readonly #options: IntakeOptions;

  constructor(options: IntakeOptions) {
    this.#options = options;
    this.received = options.received;
    this.nowMs = options.nowMs;
    this.admission = new Admission(options.admission);
  }

  /**
   * Keeps what may be kept of a batch, counts all of it, and resolves when the history answers for it.
   * @throws ReceiveFailure or BatchTooLarge with nothing kept, where it cannot be kept now or as a whole.
   */
  async keep(way: Way, batch: SampleBatch): Promise<Kept> {
    if (batch.seriesCount > maxBatchSeries) throw new BatchTooLarge();
    const { history, historyChecksLabels, metadata, nowMs } = this.#options;
    const maxTimeMs = nowMs() + maxAheadMs;
    let bad = historyChecksLabels ? undefined : findBadSeries(batch, defaultLabelLimits);
    const write = (): Promise<Written> => writeSifted(history, batch, bad, maxTimeMs);
    let written: Written;
    try {
      written = await write().catch((thrown: unknown) => {
        if (!(thrown instanceof ProtoError)) throw thrown;
        bad = findBadSeries(batch, defaultLabelLimits);
        // Nothing was kept, and no series is left that could make it throw again.
        return write();
      });
    } catch (thrown) {
      throw this.#failure(thrown);
    }
    if (batch.metadata.length > 0) metadata.learn(batch.metadata.flatMap(bounded));
    return this.#count(way, batch, written, bad?.trouble);
  }

  #count(way: Way, batch: SampleBatch, written: Written, badTrouble: string | undefined): Kept {
    const { received } = this.#options;
    const { result } = written;
    received.add(way, "stored", result.stored);
    received.add(way, "duplicate", result.duplicates);
    received.add(way, "exemplar", batch.droppedExemplars);
    received.add(way, "native_histogram", batch.droppedHistograms);
    const refused: Refusals = {
      conflict: result.refusedConflicts,
      too_old: result.refusedTooOld,
      too_new: written.later,
      limit: result.refusedByLimit,
      bad_labels: written.bad,
      ...(badTrouble === undefined ? {} : { badTrouble }),
      ...(result.told === undefined ? {} : { engineTrouble: result.told }),
    };
    for (const outcome of ["conflict", "too_old", "too_new", "limit", "bad_labels"] as const)
      received.add(way, outcome, refused[outcome]);
    return { samples: result.stored + result.duplicates, refused };
  }

  #failure(thrown: unknown): unknown {
    if (!(thrown instanceof StoreError)) return thrown;
    this.#options.log.warn("a write was refused", { trouble: thrown.message });
    return new ReceiveFailure(
      thrown.retryable ? 503 : 500,
      "failed_request",
      thrown.message,
      "retry",
    );
  }
}

interface Written {
  readonly result: AppendResult;
  readonly bad: number;
  readonly later: number;
}

async function writeSifted(
  history: History,
  batch: SampleBatch,
  bad: BadSeries | undefined,
  maxTimeMs: number,
): Promise<Written> {
  if (bad === undefined && !hasLater(batch, maxTimeMs))
    return { result: await history.write(batch), bad: 0, later: 0 };
  const sifted = sift(batch, bad?.flags, maxTimeMs);
  return { result: await history.write(sifted.batch), bad: sifted.bad, later: sifted.later };
}

/** What is told of a metric is kept for long: a copy that is cut holds on to nothing of the request. */
function bounded({ family, type, help, unit }: Metadata): Metadata[] {
  if (family.length > maxFamilyText) return [];
  return [{ family, type, help: cut(help), unit: cut(unit) }];
}

const cut = (text: string): string =>
  text.length <= maxMetadataText ? text : Buffer.from(text.slice(0, maxMetadataText)).toString();
