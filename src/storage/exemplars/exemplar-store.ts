/**
 * A ring buffer of the newest exemplars of all series: each new one replaces the oldest. A log (segments.ts) keeps them
 * across restarts. Unlike samples, exemplars are only a selection, so a failed log write affects nothing else.
 */
import { ProtoError } from "../../formats/protobuf/reader.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { defaultLabelLimits, readLabelBlock } from "../../formats/samples/labels.ts";
import type { Exemplar } from "../../model/exemplar.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import type { Matcher } from "../../model/select.ts";
import { compareLabels } from "../../query/labels.ts";
import { matchAll } from "../../query/matcher.ts";
import type { ExemplarSegments } from "./segments.ts";

export const exemplarOutcomes = [
  "stored",
  "duplicate",
  "out_of_order",
  "too_new",
  "bad_labels",
] as const;
export type ExemplarOutcome = (typeof exemplarOutcomes)[number];

export interface SeriesExemplars {
  readonly labels: LabelSet;
  /** Oldest first. */
  readonly exemplars: readonly Exemplar[];
}

export interface StoredExemplar extends Exemplar {
  readonly series: LabelSet;
}

interface StoredSeries {
  readonly key: string;
  readonly labels: LabelSet;
  readonly exemplars: Exemplar[];
}

export class ExemplarStore {
  readonly #max: number;
  readonly #segments: ExemplarSegments | undefined;
  readonly #series = new Map<string, StoredSeries>();
  /** The series of each exemplar in order of arrival; `#next` is the oldest once the ring is full. */
  readonly #ring: StoredSeries[] = [];
  #next = 0;
  readonly #counts = new Map<ExemplarOutcome, number>();

  /** @param max capacity of the ring; 0 stores no exemplars */
  constructor(max: number, segments?: ExemplarSegments) {
    this.#max = max;
    this.#segments = segments;
    for (const one of segments?.load() ?? []) this.#put(one);
  }

  get size(): number {
    return this.#ring.length;
  }

  count(outcome: ExemplarOutcome): number {
    return this.#counts.get(outcome) ?? 0;
  }

  /**
   * Adds the exemplars of a batch, whose memory must not be reused yet. Returns how many are stored, including duplicates
   * of stored ones.
   */
  add(batch: SampleBatch, maxTimeMs: number): number {
    const { exemplars = [] } = batch;
    if (exemplars.length === 0 || this.#max === 0) return 0;
    const stored: StoredExemplar[] = [];
    let known = 0;
    const labelSets = new Map<number, LabelSet | undefined>();
    for (const { series: index, labels, value, timeMs } of exemplars) {
      if (!labelSets.has(index)) labelSets.set(index, labelsOf(batch, index));
      const series = labelSets.get(index);
      const one = series && { series, labels, value, timeMs };
      const outcome = one === undefined ? "bad_labels" : this.#outcomeOf(one, maxTimeMs);
      this.#counts.set(outcome, this.count(outcome) + 1);
      if (outcome === "duplicate") known++;
      if (outcome !== "stored" || one === undefined) continue;
      this.#put(one);
      stored.push(one);
    }
    if (stored.length > 0) this.#segments?.append(stored);
    return stored.length + known;
  }

  /**
   * Returns exemplars with fromMs <= time <= toMs of the series that match any of the matcher sets, sorted by series
   * labels.
   */
  select(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
  ): readonly SeriesExemplars[] {
    const tests = sets.map((matchers) => matchAll(matchers));
    return [...this.#series.values()]
      .filter(({ labels }) => tests.some((test) => test(labels)))
      .map(({ labels, exemplars }) => ({
        labels,
        exemplars: exemplars.filter(({ timeMs }) => timeMs >= fromMs && timeMs <= toMs),
      }))
      .filter(({ exemplars }) => exemplars.length > 0)
      .sort((a, b) => compareLabels(a.labels, b.labels));
  }

  close(): void {
    this.#segments?.close();
  }

  #outcomeOf(one: StoredExemplar, maxTimeMs: number): ExemplarOutcome {
    if (one.timeMs > maxTimeMs) return "too_new";
    const newest = this.#series.get(labelKey(one.series))?.exemplars.at(-1);
    const order = newest === undefined ? 1 : compareExemplars(one, newest);
    return order === 0 ? "duplicate" : order > 0 ? "stored" : "out_of_order";
  }

  #put({ series: labels, ...exemplar }: StoredExemplar): void {
    const key = labelKey(labels);
    let series = this.#series.get(key);
    if (series === undefined) this.#series.set(key, (series = { key, labels, exemplars: [] }));
    const { labels: own, value, timeMs } = exemplar;
    series.exemplars.push({ labels: own, value, timeMs });
    const oldest = this.#ring[this.#next];
    this.#ring[this.#next] = series;
    this.#next = (this.#next + 1) % this.#max;
    if (oldest === undefined) return;
    oldest.exemplars.shift();
    if (oldest.exemplars.length === 0) this.#series.delete(oldest.key);
  }
}

function labelsOf(
  { bytes, labelStarts, labelEnds }: SampleBatch,
  series: number,
): LabelSet | undefined {
  const [start, end] = [labelStarts[series], labelEnds[series]];
  if (start === undefined || end === undefined) return undefined;
  try {
    return readLabelBlock(bytes, start, end, defaultLabelLimits);
  } catch (thrown) {
    if (thrown instanceof ProtoError) return undefined;
    throw thrown;
  }
}

/** Orders by time, then value, then labels: several buckets of a histogram may have an exemplar with the same timestamp. */
function compareExemplars(a: Exemplar, b: Exemplar): number {
  if (a.timeMs !== b.timeMs) return a.timeMs - b.timeMs;
  if (a.value !== b.value && !(Number.isNaN(a.value) && Number.isNaN(b.value)))
    return a.value < b.value ? -1 : 1;
  return compareLabels(a.labels, b.labels);
}
