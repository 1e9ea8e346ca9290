/**
 * Adds one page of a target to a batch: counts, limits, duplicates, native histograms, exemplars and start times. Only the
 * cache's series outlive the page.
 */
import type { PageExemplar, PageVisitor } from "../../../formats/exposition/visit.ts";
import type { BatchStart } from "../../../formats/samples/batch.ts";
import { type HistogramFault, isFault, withinBuckets } from "../../../model/histogram/check.ts";
import { type Histogram, isCustom, toSchema } from "../../../model/histogram/histogram.ts";
import type { LabelSet } from "../../../model/labels.ts";
import type { ScrapeConfig } from "../config/types.ts";
import { PageHistogram, type MetricPart } from "./metric-parts.ts";
import { RepeatedList } from "./repeated-list.ts";
import { ScrapeRejectedError } from "./sample-labels.ts";
import type { CachedSeries } from "./scrape-cache.ts";

const maxAheadMs = 600_000;

/** The places of the page being read; one page is read at a time. */
let places = new Int32Array(1_024);

/** The batch being filled, and its series. */
export interface PageBatch {
  open(exposed: LabelSet, emptied: readonly string[], config: ScrapeConfig): CachedSeries;
  /** Returns the series of a histogram converted from a classic one. */
  openConverted(key: string, labels: LabelSet, config: ScrapeConfig): CachedSeries;
  isInBatch(series: CachedSeries): boolean;
  add(series: CachedSeries, timeMs: number, value: number): void;
  addHistogram(series: CachedSeries, timeMs: number, histogram: Histogram): void;
  refuse(fault: HistogramFault): void;
  exemplar(series: CachedSeries, exemplar: PageExemplar, timeMs: number): void;
  metadata(kind: "type" | "help" | "unit", family: string, text: string): void;
}

interface PageMoment {
  readonly timeMs: number;
  readonly nowMs: number;
  readonly page: number;
  readonly config: ScrapeConfig;
}

export class PageIntake implements PageVisitor<CachedSeries> {
  readonly counts = { scraped: 0, kept: 0, seriesAdded: 0, duplicates: 0, outOfBounds: 0 };
  readonly tracked: RepeatedList<CachedSeries>;
  readonly starts: (readonly [CachedSeries, BatchStart])[] = [];
  /** Samples that count against the limit. */
  appended = 0;
  /** True while each sample is a number without a timestamp, an exemplar, a start time and a part in another metric. */
  isPlain = true;
  /** Samples in the batch. */
  added = 0;
  readonly #batch: PageBatch;
  readonly #moment: PageMoment;
  readonly #classic = new Map<string, PageHistogram>();
  /** Keys of metrics with native buckets besides the classic ones. */
  readonly #native = new Set<string>();
  /** Start times from `_created` lines, by the key of their metric. */
  readonly #created = new Map<string, number>();
  #lastMs = 0;
  #lastHistogram: Histogram | undefined;

  /** @param lastTracked the tracked series of the page before */
  constructor(batch: PageBatch, moment: PageMoment, lastTracked: readonly CachedSeries[]) {
    this.#batch = batch;
    this.#moment = moment;
    this.tracked = new RepeatedList(lastTracked);
  }

  open(exposed: LabelSet, emptied: readonly string[]): CachedSeries {
    try {
      return this.#batch.open(exposed, emptied, this.#moment.config);
    } catch (thrown) {
      this.counts.scraped++;
      throw thrown;
    }
  }

  sample(series: CachedSeries, value: number, ownTimeMs: number | undefined): void {
    if (series.part !== undefined || ownTimeMs !== undefined) this.isPlain = false;
    if (series.part !== undefined && !this.#takesPart(series.part, value, ownTimeMs)) return;
    const timeMs = this.#admit(series, ownTimeMs);
    this.#notePlace(timeMs === undefined ? -1 : this.added++);
    if (timeMs === undefined) return;
    this.#batch.add(series, timeMs, value);
    this.#lastMs = timeMs;
    this.#lastHistogram = undefined;
  }

  histogram(
    series: CachedSeries,
    checked: Histogram | HistogramFault,
    ownTimeMs: number | undefined,
  ): void {
    this.isPlain = false;
    if (series.part !== undefined) this.#native.add(series.part.key);
    this.#histogram(series, checked, ownTimeMs);
  }

  exemplar(series: CachedSeries, exemplar: PageExemplar): void {
    this.isPlain = false;
    if (this.#batch.isInBatch(series)) this.#batch.exemplar(series, exemplar, this.#lastMs);
  }

  start(series: CachedSeries, startMs: number): void {
    this.isPlain = false;
    if (startMs === series.startMs || !this.#batch.isInBatch(series)) return;
    const { place } = series;
    const histogram = this.#lastHistogram;
    this.starts.push([
      series,
      { series: place, startMs, sampleMs: this.#lastMs, ...(histogram && { histogram }) },
    ]);
  }

  metadata(kind: "type" | "help" | "unit", family: string, text: string): void {
    this.#batch.metadata(kind, family, text);
  }

  /** For each sample of a plain page its place in the batch, or -1; undefined if each one has its own number as its place. */
  placesOfPlain(): Int32Array | undefined {
    const { scraped } = this.counts;
    return this.added === scraped ? undefined : places.slice(0, scraped);
  }

  /** To be called after the last line. */
  finish(): void {
    const { config, timeMs } = this.#moment;
    for (const [key, classic] of this.#classic) {
      if (this.#native.has(key)) continue;
      const series = this.#batch.openConverted(key, classic.labels, config);
      this.#histogram(series, classic.convert(), classic.timeMs);
    }
    if (this.#created.size === 0) return;
    for (const series of this.tracked.finish()) {
      const startMs = series.part && this.#created.get(series.part.key);
      if (startMs === undefined) continue;
      this.#lastMs = timeMs;
      this.#lastHistogram = undefined;
      this.start(series, startMs);
    }
  }

  #notePlace(place: number): void {
    const at = this.counts.scraped - 1;
    if (at >= places.length) {
      const more = new Int32Array(2 * places.length);
      more.set(places);
      places = more;
    }
    places[at] = place;
  }

  /** True if the part is stored as a series of its own. */
  #takesPart(part: MetricPart, value: number, ownTimeMs: number | undefined): boolean {
    const { isConverted, isAlwaysClassic } = this.#moment.config.histograms;
    const { kind, key, labels } = part;
    if (kind === "created") {
      this.#created.set(key, Math.round(value * 1_000));
      return false;
    }
    if (!isConverted || kind === "value") return true;
    let classic = this.#classic.get(key);
    if (classic === undefined)
      this.#classic.set(key, (classic = new PageHistogram(labels, ownTimeMs)));
    classic.add(part, value);
    return isAlwaysClassic;
  }

  #histogram(
    series: CachedSeries,
    checked: Histogram | HistogramFault,
    ownTimeMs: number | undefined,
  ): void {
    if (isFault(checked)) {
      this.counts.scraped++;
      this.#batch.refuse(checked);
      return;
    }
    const timeMs = this.#admit(series, ownTimeMs);
    if (timeMs === undefined) return;
    const histogram = this.#limited(checked);
    this.#batch.addHistogram(series, timeMs, histogram);
    this.#lastMs = timeMs;
    this.#lastHistogram = histogram;
  }

  /**
   * Merges buckets down to the job's resolution and bucket limit; a histogram that still exceeds it fails the scrape, as in Prometheus.
   */
  #limited(histogram: Histogram): Histogram {
    const { maxSchema, bucketLimit } = this.#moment.config.histograms;
    const coarse =
      !isCustom(histogram) && histogram.schema > maxSchema
        ? toSchema(histogram, maxSchema)
        : histogram;
    const limited = bucketLimit > 0 ? withinBuckets(coarse, bucketLimit) : coarse;
    if (isFault(limited))
      throw new ScrapeRejectedError(`histogram bucket limit exceeded (limit: ${bucketLimit})`);
    return limited;
  }

  /** The timestamp of a sample to add; undefined if the sample is dropped. */
  #admit(series: CachedSeries, ownTimeMs: number | undefined): number | undefined {
    const { counts } = this;
    const { timeMs, nowMs, page, config } = this.#moment;
    counts.scraped++;
    if (series.slot < 0) return undefined;
    counts.kept++;
    const explicit = config.honorTimestamps ? ownTimeMs : undefined;
    if (explicit !== undefined && explicit > nowMs + maxAheadMs) {
      counts.outOfBounds++;
      return undefined;
    }
    const limit = config.limits.samples;
    if (limit > 0 && ++this.appended > limit) return undefined;
    if (explicit === undefined && this.#batch.isInBatch(series)) {
      counts.duplicates++;
      return undefined;
    }
    if (series.isNew) {
      series.isNew = false;
      counts.seriesAdded++;
    }
    if (explicit === undefined || config.trackTimestampsStaleness) {
      if (series.page !== page) this.tracked.push(series);
      series.page = page;
    }
    return explicit ?? timeMs;
  }
}
