/** What became of what senders sent, by their way in: kept, refused or dropped with the reason. Nothing that came is left uncounted. */

/** Samples that were kept or refused one by one, then kinds that are not kept, then whole requests. */
export const ingestOutcomes = [
  "stored",
  "duplicate",
  "conflict",
  "too_old",
  "too_new",
  "limit",
  "bad_labels",
  "malformed",
  "exemplar",
  "native_histogram",
  "delta_temporality",
  "text",
  "malformed_request",
  "unsupported_request",
  "too_large_request",
  "busy_request",
  "held_request",
  "failed_request",
] as const;
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

/** What can become of what comes this way; the rest does not exist there. */
export const receiverOutcomes = {
  remote_write: [...commonOutcomes, "exemplar", "native_histogram"],
  otlp: [...commonOutcomes, "exemplar", "native_histogram", "delta_temporality", "malformed"],
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
    "failed_request",
  ],
} as const satisfies Readonly<Record<string, readonly IngestOutcome[]>>;

export type ReceiverName = keyof typeof receiverOutcomes;
export const receiverNames = Object.keys(receiverOutcomes) as readonly ReceiverName[];

export class ReceiverCounts {
  readonly #counts = new Map<string, number>();

  add(way: ReceiverName, outcome: IngestOutcome, count = 1): void {
    if (count === 0) return;
    const key = `${way} ${outcome}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  count(way: ReceiverName, outcome: IngestOutcome): number {
    return this.#counts.get(`${way} ${outcome}`) ?? 0;
  }
}
