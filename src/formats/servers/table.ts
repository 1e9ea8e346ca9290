/**
 * The type of a table for the metrics of an LLM server: which of its series is which signal. A signal that a server does not expose
 * is not in its table, has a reason, and stays absent: nothing is guessed from another signal.
 */

/** Totals that only increase, except for restarts. */
const counterSignals = [
  "promptTokens",
  "generatedTokens",
  "requests",
  "failedRequests",
  "preemptions",
] as const;
/** Current values. */
const gaugeSignals = ["running", "waiting", "kvCacheRatio"] as const;
/** Classic histograms, in seconds: the table has the name without `_bucket`. */
export const latencySignals = ["timeToFirstToken", "interToken", "requestDuration"] as const;

export type CounterSignal = (typeof counterSignals)[number];
export type GaugeSignal = (typeof gaugeSignals)[number];
export type LatencySignal = (typeof latencySignals)[number];
export type ServerSignal = CounterSignal | GaugeSignal | LatencySignal;

/** One series of the server. */
export interface ServerMetric {
  readonly name: string;
  /** Labels that it must have. */
  readonly when?: Readonly<Record<string, string>>;
  /** Labels that it must not have with this value. */
  readonly unless?: Readonly<Record<string, string>>;
}

/** Names of other versions come after the current one: the first that a target exposes is read. */
export type ServerNames = readonly ServerMetric[];

export interface ServerTable {
  readonly name: string;
  /** The program's name, as its makers spell it. */
  readonly program: string;
  /**
   * `engine`: computes on GPUs. `router`: forwards requests to engines, which report their own tokens; it has no GPUs and is left
   * out of sums.
   */
  readonly role: "engine" | "router";
  readonly signals: Readonly<Partial<Record<ServerSignal, ServerNames>>>;
  /** Parts of one server whose gauges are added, such as data-parallel ranks; duplicates by other labels count once. */
  readonly partLabels: readonly string[];
  /** Why signals are missing. */
  readonly missing: Readonly<Partial<Record<ServerSignal, string>>>;
  /** Tokens are counted when a request ends, so that a short interval may count too many or too few. */
  readonly countsAtEnd?: true;
  /** How to enable its metrics. */
  readonly setup: string;
}

/** A program that serves LLMs and exposes no metrics. */
export interface ServerWithoutMetrics {
  readonly program: string;
  readonly reason: string;
}

/** Entries for series without further conditions. */
export const named = (...names: readonly string[]): ServerNames => names.map((name) => ({ name }));
