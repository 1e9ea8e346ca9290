/** What became of what senders sent, by their way in: kept, refused or dropped with the reason. Nothing that came is left uncounted. */

/** Samples that were kept or refused one by one, then kinds that are not kept, then whole requests. */
export const outcomes = [
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
export type Outcome = (typeof outcomes)[number];

const always = [
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
] as const satisfies readonly Outcome[];

/** What can become of what comes this way; the rest does not exist there. */
export const outcomesOfWays = {
  remote_write: [...always, "exemplar", "native_histogram"],
  otlp: [...always, "exemplar", "native_histogram", "delta_temporality", "malformed"],
  influx: [...always, "text", "malformed"],
  json: [...always, "malformed"],
  push: [...always, "held_request"],
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
} as const satisfies Readonly<Record<string, readonly Outcome[]>>;

export type Way = keyof typeof outcomesOfWays;
export const ways = Object.keys(outcomesOfWays) as readonly Way[];

export class Received {
  readonly #counts = new Map<string, number>();

  add(way: Way, outcome: Outcome, count = 1): void {
    if (count === 0) return;
    const key = `${way} ${outcome}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  count(way: Way, outcome: Outcome): number {
    return this.#counts.get(`${way} ${outcome}`) ?? 0;
  }
}
