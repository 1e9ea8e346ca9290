/** Counts received samples and requests by receiver and outcome: stored, refused or dropped with the reason. */
import type { ingestOutcomes } from "../../model/catalogue/self-storage.ts";
import { histogramFaultReasons } from "../../model/histogram/check.ts";
import type { AppendResult } from "../../storage/embedded/options.ts";

export type IngestOutcome = (typeof ingestOutcomes)[number];

const commonOutcomes = [
  "stored",
  "duplicate",
  "conflict",
  "too_old",
  "too_new",
  "limit",
  "bad_labels",
  "malformed_request",
  "unsupported_request",
  "too_large_request",
  "busy_request",
  "failed_request",
] as const satisfies readonly IngestOutcome[];

/** The possible outcomes of each receiver. */
export const receiverOutcomes = {
  remote_write: [...commonOutcomes, "exemplar", ...histogramFaultReasons],
  otlp: [
    ...commonOutcomes,
    "exemplar",
    ...histogramFaultReasons,
    "temporality",
    "delta_out_of_order",
    "delta_limit",
    "malformed",
  ],
  influx: [...commonOutcomes, "text", "malformed"],
  json: [...commonOutcomes, "malformed"],
  push: [...commonOutcomes, "held_request"],
  scrape: [
    "stored",
    "duplicate",
    "conflict",
    "too_old",
    "too_new",
    "limit",
    "bad_labels",
    "exemplar",
    ...histogramFaultReasons,
    "failed_request",
  ],
} as const satisfies Readonly<Record<string, readonly IngestOutcome[]>>;

export type ReceiverName = keyof typeof receiverOutcomes;
export const receiverNames = Object.keys(receiverOutcomes) as readonly ReceiverName[];

export class ReceiverCounts {
  readonly #counts = new Map<string, number>();

  add(receiver: ReceiverName, outcome: IngestOutcome, count = 1): void {
    if (count === 0) return;
    const key = `${receiver} ${outcome}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  count(receiver: ReceiverName, outcome: IngestOutcome): number {
    return this.#counts.get(`${receiver} ${outcome}`) ?? 0;
  }
}

export function countAppended(
  received: ReceiverCounts,
  receiver: ReceiverName,
  result: AppendResult,
): void {
  received.add(receiver, "stored", result.stored);
  received.add(receiver, "duplicate", result.duplicates);
  received.add(receiver, "conflict", result.refusedConflicts);
  received.add(receiver, "too_old", result.refusedTooOld);
  received.add(receiver, "limit", result.refusedByLimit);
}
