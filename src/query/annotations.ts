/**
 * Warnings and infos of a query, in Prometheus's words. Equal sentences are listed once, with the position of the last
 * occurrence; sentences with a count keep the position of the first.
 */
import type { Selection } from "../model/select.ts";
import type { Span } from "./ast.ts";
import { position } from "./errors.ts";
import { printShortest, printTwoDigits } from "./number.ts";
import { quote } from "./quote.ts";

interface ForcedMonotonicityInfo {
  fromMs: number;
  toMs: number;
  lowest: number;
  highest: number;
  largestDiff: number;
  count: number;
}

export type HistogramOperation = "addition" | "subtraction" | "aggregation";

export class Annotations {
  private readonly spans = new Map<string, Span>();
  private readonly forced = new Map<string, ForcedMonotonicityInfo>();
  private readonly overlaps = new Map<string, number>();
  /** The store's notes about unreadable data and rollups, which have no position in the query. */
  private readonly storeWarnings = new Set<string>();
  private readonly storeInfos = new Set<string>();

  addFromStore({ warnings = [], infos = [] }: Pick<Selection, "warnings" | "infos">): void {
    for (const sentence of warnings) this.storeWarnings.add(sentence);
    for (const sentence of infos) this.storeInfos.add(sentence);
  }

  warn(sentence: string, span: Span): void {
    this.#raise(`PromQL warning: ${sentence}`, span);
  }

  info(sentence: string, span: Span): void {
    this.#raise(`PromQL info: ${sentence}`, span);
  }

  /**
   * Adds a sentence. Ignores an inner expression after an outer one, which can happen if series are evaluated one by
   * one.
   */
  #raise(sentence: string, span: Span): void {
    const [before, text] = [textOf(this.spans.get(sentence)), textOf(span)];
    const isInner = before !== undefined && before.start <= text.start && text.end <= before.end;
    if (!isInner) this.spans.set(sentence, span);
  }

  invalidQuantile(quantile: number, span: Span): void {
    this.warn(`quantile value should be between 0 and 1, got ${printShortest(quantile)}`, span);
  }

  badBucket(label: string, metric: string, span: Span): void {
    const sentence = `bucket label "le" is missing or has a malformed value of ${quote(label)}`;
    this.warn(sentence + forMetric(metric), span);
  }

  mixedSamples(metric: string, span: Span): void {
    this.warn(`encountered a mix of histograms and floats for metric name ${quote(metric)}`, span);
  }

  mixedAggregation(span: Span): void {
    this.warn("encountered a mix of histograms and floats for aggregation", span);
  }

  mixedSchemas(metric: string, span: Span): void {
    const sentence =
      "vector contains a mix of histograms with exponential and custom buckets schemas";
    this.warn(`${sentence} for metric name ${quote(metric)}`, span);
  }

  notCounter(metric: string, span: Span): void {
    this.warn(`this native histogram metric is not a counter: ${quote(metric)}`, span);
  }

  notGauge(metric: string, span: Span): void {
    this.warn(`this native histogram metric is not a gauge: ${quote(metric)}`, span);
  }

  resetCollision(operation: HistogramOperation, span: Span): void {
    this.warn(`conflicting counter resets during histogram ${operation}`, span);
  }

  boundsReconciled(operation: HistogramOperation, span: Span): void {
    this.info(`mismatched custom buckets were reconciled during ${operation}`, span);
  }

  ignoredInAggregation(aggregation: string, span: Span): void {
    this.info(`ignored histogram in ${aggregation} aggregation`, span);
  }

  ignoredInRange(metric: string, span: Span): void {
    const sentence = "ignored histograms in a range containing both floats and histograms";
    this.info(`${sentence} for metric name ${quote(metric)}`, span);
  }

  incompatibleTypes(left: string, operator: string, right: string, span: Span): void {
    const sentence = "incompatible sample types encountered for binary operator";
    this.info(`${sentence} ${quote(operator)}: ${left} ${operator} ${right}`, span);
  }

  incompatibleBuckets(operator: string, span: Span): void {
    this.warn(`incompatible bucket layout encountered for binary operator ${operator}`, span);
  }

  classicAndNative(metric: string, span: Span): void {
    this.warn(`vector contains a mix of classic and native histograms${forMetric(metric)}`, span);
  }

  /** For NaN observations, which are in no bucket. */
  nanObservations(name: string, effect: string, metric: string, span: Span): void {
    this.info(`input to ${name} has NaN observations, ${effect}${forMetric(metric)}`, span);
  }

  /** For a sample whose start time is before the previous sample's timestamp. */
  startOverlap(metric: string, span: Span): void {
    const sentence = `PromQL warning: sample has start time that overlaps with previous sample timestamp for metric ${quote(metric)}`;
    if (!this.overlaps.has(sentence)) this.spans.set(sentence, span);
    this.overlaps.set(sentence, (this.overlaps.get(sentence) ?? 0) + 1);
  }

  forcedMonotonic(metric: string, span: Span, seen: Omit<ForcedMonotonicityInfo, "count">): void {
    const docs =
      "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile";
    const sentence =
      `PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see ${docs})` +
      forMetric(metric);
    const before = this.forced.get(sentence);
    if (before === undefined) this.spans.set(sentence, span);
    this.forced.set(sentence, {
      fromMs: Math.min(seen.fromMs, before?.fromMs ?? Infinity),
      toMs: Math.max(seen.toMs, before?.toMs ?? -Infinity),
      lowest: Math.min(seen.lowest, before?.lowest ?? Infinity),
      highest: Math.max(seen.highest, before?.highest ?? -Infinity),
      largestDiff: Math.max(seen.largestDiff, before?.largestDiff ?? 0),
      count: (before?.count ?? 0) + 1,
    });
  }

  /** Formats the sentences like Prometheus, each with its position in the query. */
  asStrings(query: string): { warnings: string[]; infos: string[] } {
    const warnings = [...this.storeWarnings];
    const infos = [...this.storeInfos];
    for (const [sentence, span] of this.spans) {
      const forced = this.forced.get(sentence);
      const overlaps = this.overlaps.get(sentence) ?? 0;
      const occurrences = overlaps > 1 ? ` (${overlaps} occurrences)` : "";
      const detail = forced === undefined ? occurrences : describe(forced);
      const target = sentence.startsWith("PromQL info") ? infos : warnings;
      target.push(`${sentence}${detail} (${position(query, span.start)})`);
    }
    return { warnings, infos };
  }
}

const textOf = <Given extends Span | undefined>(span: Given): Span | Given => span?.of ?? span;

function forMetric(metric: string): string {
  return metric === "" ? "" : ` for metric name ${quote(metric)}`;
}

function describe(forced: ForcedMonotonicityInfo): string {
  const buckets = `from buckets ${printShortest(forced.lowest)} to ${printShortest(forced.highest)}`;
  const diff = printTwoDigits(forced.largestDiff);
  const span = `from ${second(forced.fromMs)} to ${second(forced.toMs)}`;
  return `, ${buckets}, with a max diff of ${diff}, over ${forced.count} samples ${span}`;
}

function second(timeMs: number): string {
  return new Date(Math.trunc(timeMs / 1000) * 1000).toISOString().replace(".000", "");
}
