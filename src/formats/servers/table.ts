/**
 * The shape of a table that reads the metrics of an LLM server: which of its series is which signal. What a server does not
 * expose is missing from its table, with the reason, and stays absent: nothing is guessed from another signal.
 */

/** Totals that only grow, but for restarts. */
export const counterSignals = [
  "promptTokens",
  "generatedTokens",
  "requests",
  "failedRequests",
  "preemptions",
] as const;
/** Values of the moment. */
export const gaugeSignals = ["running", "waiting", "kvCacheRatio"] as const;
/** Classic histograms, in seconds: the table has the name without `_bucket`. */
export const latencySignals = ["timeToFirstToken", "interToken", "requestDuration"] as const;

export type CounterSignal = (typeof counterSignals)[number];
export type GaugeSignal = (typeof gaugeSignals)[number];
export type LatencySignal = (typeof latencySignals)[number];
export type ServerSignal = CounterSignal | GaugeSignal | LatencySignal;

/** One series of theirs. */
export interface ServerMetric {
  readonly name: string;
  /** Labels that it must carry. */
  readonly when?: Readonly<Record<string, string>>;
  /** Labels that it must not carry with this value. */
  readonly unless?: Readonly<Record<string, string>>;
}

/** The names of other versions come after the present one: the first that a target exposes is read. */
export type ServerNames = readonly ServerMetric[];

export interface ServerTable {
  readonly name: string;
  /** The program, as its makers write it. */
  readonly program: string;
  /**
   * `engine`: computes on GPUs. `router`: passes requests on to engines, which report their own tokens; it has no GPUs and
   * is left out of sums.
   */
  readonly role: "engine" | "router";
  readonly signals: Readonly<Partial<Record<ServerSignal, ServerNames>>>;
  /** Parts of one server whose gauges are added up, such as data-parallel ranks; copies by other labels count once. */
  readonly partLabels: readonly string[];
  /** Why signals are missing. */
  readonly missing: Readonly<Partial<Record<ServerSignal, string>>>;
  /** Tokens are counted when a request ends, so that a short interval has too many or too few. */
  readonly countsAtEnd?: true;
  /** How to make it expose metrics. */
  readonly setup: string;
}

/** A program that serves LLMs and exposes no metrics. */
export interface ServerWithoutMetrics {
  readonly program: string;
  readonly reason: string;
}

/** An entry for a series without further conditions. */
export const named = (...names: readonly string[]): ServerNames => names.map((name) => ({ name }));
