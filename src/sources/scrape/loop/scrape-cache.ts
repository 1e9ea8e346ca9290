/**
 * The cache of one target's series across scrapes: each series' labels are computed once, its label block is retained, and later
 * pages look up their lines. It detects series that ended. A page is stored whole or not at all.
 */
import { formatOf, parsePage } from "../../../formats/exposition/parse.ts";
import { parseProtobufPage } from "../../../formats/exposition/protobuf.ts";
import { RepeatedPage } from "../../../formats/exposition/repeated-page.ts";
import { SeriesMemory } from "../../../formats/exposition/series-memory.ts";
import type { ExpositionFormat, PageExemplar } from "../../../formats/exposition/visit.ts";
import { BatchAttachments } from "../../../formats/samples/attachments.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import { BatchBuilder } from "../../../formats/samples/builder.ts";
import { BatchColumns } from "../../../formats/samples/columns.ts";
import { hashWords, LabelHasher } from "../../../formats/samples/label-hash.ts";
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { histogramHigh } from "../../../model/histogram/word.ts";
import { type LabelSet, labelSet } from "../../../model/labels.ts";
import { putStale } from "../../../model/stale.ts";
import type { ScrapeConfig } from "../config/types.ts";
import { checkLabels, ScrapeRejectedError, sampleLabels } from "./sample-labels.ts";
import { MetadataPage } from "./metadata-page.ts";
import { type MetricPart, metricPart } from "./metric-parts.ts";
import { type PageBatch, PageIntake } from "./page-intake.ts";
import { RepeatedList } from "./repeated-list.ts";
import { type ReportName, usualReports } from "./report.ts";

/** A series of the page. */
export interface CachedSeries {
  /** Index of its label block in the arena; -1 if relabeling drops the series. */
  slot: number;
  readonly hash: number;
  /** The last batch that contains it, and its index there. */
  batch: number;
  place: number;
  /** The last page that tracked it; a tracked series ends when a page lacks it. */
  page: number;
  isNew: boolean;
  /** Present for a part of a converted histogram, or of a metric with a separate `_created` line. */
  readonly part?: MetricPart | undefined;
  /** The start and the exemplar stored last; pages repeat both. */
  startMs?: number;
  exemplar?: string;
}

export interface PageOutcome {
  /** Why the whole page is rejected; undefined if it is accepted. */
  readonly error: Error | undefined;
  readonly scraped: number;
  readonly kept: number;
  readonly seriesAdded: number;
  /** Number of duplicate series on the page; the first of them is stored. */
  readonly duplicates: number;
  /** Number of samples too far in the future. */
  readonly outOfBounds: number;
}

/** A page of plain samples that the next page most likely repeats with other values. */
interface PlainPage {
  readonly layout: RepeatedPage;
  readonly format: ExpositionFormat;
  readonly config: ScrapeConfig;
  /** See `PageIntake.placesOfPlain`. */
  readonly places: Int32Array | undefined;
  readonly added: number;
  readonly outcome: PageOutcome;
}

type SeriesColumns = Pick<
  SampleBatch,
  "bytes" | "seriesCount" | "labelStarts" | "labelEnds" | "labelHashes"
>;

const hasher = new LabelHasher();
const spareSlots = 1_000;

export class ScrapeCache {
  readonly metadata = new MetadataPage();
  readonly #target: LabelSet;
  #memory = new SeriesMemory<CachedSeries>();
  /** Label blocks by slot; the report series come first. */
  #arena = new BatchBuilder();
  readonly #reports: ReadonlyMap<ReportName, CachedSeries>;
  #tracked: readonly CachedSeries[] = [];
  /** Made for each batch: columns that wait for the next scrape would outlive the young generation. */
  #samples = new BatchColumns(0);
  #expectedSamples = 64;
  #attached = new BatchAttachments();
  readonly #usesStarts: boolean;
  readonly #intake: PageBatch;
  #slots = new RepeatedList<number>();
  #lastColumns: { readonly slots: readonly number[]; readonly columns: SeriesColumns } | undefined;
  #plainPage: PlainPage | undefined;
  #batch = 0;
  #page = 0;

  /**
   * @param target the labels added to every series
   * @param usesStarts `_created` lines set start times and do not become series
   */
  constructor(target: LabelSet, reports: readonly ReportName[] = usualReports, usesStarts = false) {
    this.#target = target;
    this.#usesStarts = usesStarts;
    this.#intake = this.#pageBatch();
    this.#reports = new Map(
      reports.map((name) => [
        name,
        this.#known(labelSet({ ...Object.fromEntries(target), __name__: name })),
      ]),
    );
  }

  /** Begins a batch with a page. An empty or missing page ends every series. */
  takePage(
    body: Buffer,
    contentType: string | undefined,
    timeMs: number,
    nowMs: number,
    config: ScrapeConfig,
  ): PageOutcome {
    this.#begin();
    const format = formatOf(contentType) ?? config.fallbackFormat;
    const repeated = this.#takeRepeated(body, format, timeMs, config);
    if (repeated !== undefined) return repeated;
    const moment = { timeMs, nowMs, page: ++this.#page, config };
    const page = new PageIntake(this.#intake, moment, this.#tracked);
    let error = this.#read(body, format, config, page);
    const limit = config.limits.samples;
    if (error === undefined && limit > 0 && page.appended > limit)
      error = new ScrapeRejectedError(`sample limit exceeded (limit: ${limit})`);
    if (error === undefined) {
      for (const [series, start] of page.starts) {
        series.startMs = start.startMs;
        this.#attached.start(start);
      }
      const tracked = page.tracked.finish();
      const isSame = tracked === this.#tracked;
      this.#endTracked(tracked, timeMs);
      if (isSame && page.isPlain) this.#plainPage = plainPageOf(body, format, config, page);
    } else {
      this.endAll(timeMs);
      page.counts.seriesAdded = 0;
    }
    return { error, ...page.counts };
  }

  /** Takes a page that differs from the last one by its values only; undefined if it is another one. */
  #takeRepeated(
    body: Buffer,
    format: ExpositionFormat,
    timeMs: number,
    config: ScrapeConfig,
  ): PageOutcome | undefined {
    const known = this.#plainPage;
    this.#plainPage = undefined;
    if (known === undefined || this.#lastColumns === undefined) return undefined;
    if (known.config !== config || known.format !== format) return undefined;
    const values = known.layout.read(body);
    if (values === undefined) return undefined;
    const { added, places } = known;
    this.#slots.repeat(added);
    const samples = this.#samples;
    samples.addRow(added, timeMs);
    if (places === undefined) samples.values.set(values.subarray(0, added));
    else
      for (let at = 0; at < places.length; at++) {
        const place = places[at] as number;
        if (place >= 0) samples.values[place] = values[at] as number;
      }
    this.#plainPage = known;
    return known.outcome;
  }

  /** Begins a batch that ends every series except the report series. */
  endAll(timeMs: number): void {
    this.#begin();
    this.#plainPage = undefined;
    for (const series of this.#tracked) this.#end(series, timeMs);
    this.#tracked = [];
  }

  /** Adds a report sample to the batch begun by `takePage` or `endAll`. */
  report(name: ReportName, timeMs: number, value: number): void {
    const series = this.#reports.get(name);
    if (series === undefined) throw new Error(`BUG: the report ${name} was not announced`);
    this.#add(series, timeMs, value);
  }

  /** The target's current series and its report series. */
  *live(): Generator<CachedSeries> {
    yield* this.#reports.values();
    yield* this.#tracked;
  }

  labelBlock({ slot }: CachedSeries): Uint8Array {
    const { bytes, labelStarts, labelEnds } = this.#arena.finish();
    return bytes.subarray(labelStarts[slot], labelEnds[slot]);
  }

  /** Staleness markers for the series of a removed target. */
  endings(series: Iterable<CachedSeries>, timeMs: number): SampleBatch {
    this.#begin();
    for (const one of series) this.#end(one, timeMs);
    return this.finish();
  }

  finish(): SampleBatch {
    const batch = {
      ...this.#seriesColumns(),
      sampleCount: this.#samples.count,
      ...this.#samples.finish(),
      ...this.#attached.finish(),
      metadata: this.metadata.news(),
    };
    this.#expectedSamples = Math.max(64, batch.sampleCount);
    this.#samples = new BatchColumns(0);
    this.#compact();
    return batch;
  }

  /** The label blocks of the batch's series and their hashes; cached, since most pages contain the same series as the previous one. */
  #seriesColumns(): SeriesColumns {
    const slots = this.#slots.finish();
    const last = this.#lastColumns;
    if (last?.slots === slots) return last.columns;
    const { bytes, labelStarts, labelEnds } = this.#arena.finish();
    const columns = {
      bytes,
      seriesCount: slots.length,
      labelStarts: Uint32Array.from(slots, (slot) => labelStarts[slot] ?? 0),
      labelEnds: Uint32Array.from(slots, (slot) => labelEnds[slot] ?? 0),
      labelHashes: new Uint32Array(slots.length * hashWords),
    };
    hasher.hashAll(
      bytes,
      columns.labelStarts,
      columns.labelEnds,
      slots.length,
      columns.labelHashes,
    );
    this.#lastColumns = { slots, columns };
    return columns;
  }

  #read(
    body: Buffer,
    format: ExpositionFormat,
    config: ScrapeConfig,
    page: PageIntake,
  ): Error | undefined {
    if (body.length === 0) return undefined;
    const { isNative, isAlwaysClassic, isConverted } = config.histograms;
    try {
      if (format === "protobuf")
        parseProtobufPage(body, this.#memory, page, {
          hasNative: isNative,
          alwaysClassic: isAlwaysClassic,
        });
      else parsePage(body, format, this.#memory, page);
      if (isConverted || this.#usesStarts) page.finish();
    } catch (thrown) {
      return thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    this.#memory.endPage(() => undefined);
    return undefined;
  }

  #open(
    exposed: LabelSet,
    emptied: readonly string[],
    config: ScrapeConfig,
    hasParts = this.#usesStarts || config.histograms.isConverted,
  ): CachedSeries {
    const part = hasParts
      ? metricPart(exposed, (family) => this.metadata.typeOf(family), this.#usesStarts)
      : undefined;
    if (part?.kind === "created") return { ...droppedSeries, part };
    const labels = sampleLabels(exposed, emptied, this.#target, config);
    if (labels === undefined || labels.length === 0)
      return part === undefined ? droppedSeries : { ...droppedSeries, part };
    checkLabels(labels, config.limits);
    return this.#known(labels, part);
  }

  #pageBatch(): PageBatch {
    return {
      open: (exposed, emptied, config) => this.#open(exposed, emptied, config),
      openConverted: (key, labels, config) => this.#openConverted(key, labels, config),
      isInBatch: ({ batch }) => batch === this.#batch,
      add: (series, timeMs, value) => this.#add(series, timeMs, value),
      addHistogram: (series, timeMs, histogram) => this.#addHistogram(series, timeMs, histogram),
      refuse: (fault) => this.#attached.refuse(fault),
      exemplar: (series, exemplar, timeMs) => this.#exemplar(series, exemplar, timeMs),
      metadata: (kind, family, text) => this.metadata.set(kind, family, text),
    };
  }

  #openConverted(key: string, labels: LabelSet, config: ScrapeConfig): CachedSeries {
    // A page line cannot begin with these bytes.
    const text = `\0\0${Buffer.from(key).toString("latin1")}`;
    const line = this.#memory.find(text);
    return this.#memory.see(
      line ?? this.#memory.add(text, true, this.#open(labels, [], config, false)),
    );
  }

  #known(labels: LabelSet, part?: MetricPart): CachedSeries {
    const slot = this.#arena.series(labels);
    return { slot, hash: hashOf(labels), batch: -1, place: 0, page: -1, isNew: true, part };
  }

  /** Ends series that are missing from this page, unless another line of it has the same labels. */
  #endTracked(tracked: readonly CachedSeries[], timeMs: number): void {
    if (tracked === this.#tracked) return;
    const gone = this.#tracked.filter(({ page }) => page !== this.#page);
    this.#tracked = tracked;
    if (gone.length === 0) return;
    const hashes = new Set(gone.map(({ hash }) => hash));
    const still = tracked.filter(({ hash }) => hashes.has(hash)).map((one) => this.labelBlock(one));
    for (const series of gone) {
      const block = this.labelBlock(series);
      if (!still.some((other) => Buffer.compare(other, block) === 0)) this.#end(series, timeMs);
    }
  }

  #end(series: CachedSeries, timeMs: number): void {
    const at = this.#samples.add(this.#place(series), timeMs);
    putStale(this.#samples.words, at);
  }

  #addHistogram(series: CachedSeries, timeMs: number, histogram: Histogram): void {
    const low = this.#attached.histogram(histogram);
    const at = this.#samples.add(this.#place(series), timeMs) * 2;
    this.#samples.words[at] = low;
    this.#samples.words[at + 1] = histogramHigh;
  }

  /** Stores an exemplar when it changes; pages repeat the last one. */
  #exemplar(series: CachedSeries, exemplar: PageExemplar, timeMs: number): void {
    const text = JSON.stringify(exemplar);
    if (series.exemplar === text) return;
    series.exemplar = text;
    const { labels, value } = exemplar;
    const timed = { labels, value, timeMs: exemplar.timeMs ?? timeMs };
    this.#attached.exemplar(series.place, () => timed);
  }

  /** Get the index first: growing may replace the columns. */
  #add(series: CachedSeries, timeMs: number, value: number): void {
    const at = this.#samples.add(this.#place(series), timeMs);
    this.#samples.values[at] = value;
  }

  #place(series: CachedSeries): number {
    if (series.batch !== this.#batch) {
      series.batch = this.#batch;
      series.place = this.#slots.push(series.slot);
    }
    return series.place;
  }

  #begin(): void {
    this.#batch++;
    this.#slots = new RepeatedList(this.#lastColumns?.slots);
    this.#attached = new BatchAttachments();
    this.#samples = new BatchColumns(this.#expectedSamples);
  }

  /** Rebuilds the arena once label blocks of forgotten series are more than half of it. */
  #compact(): void {
    const live = this.#memory.size + this.#reports.size;
    if (this.#arena.seriesCount <= 2 * live + spareSlots) return;
    const { bytes, labelStarts, labelEnds } = this.#arena.finish();
    const next = new BatchBuilder();
    const move = (series: CachedSeries): void => {
      series.slot = next.rawSeries(
        bytes,
        labelStarts[series.slot] ?? 0,
        labelEnds[series.slot] ?? 0,
      );
    };
    const kept = new Set([...this.#reports.values(), ...this.#tracked, ...this.#memory.handles()]);
    for (const series of kept) if (series.slot >= 0) move(series);
    this.#arena = next;
    this.#lastColumns = undefined;
  }
}

function plainPageOf(
  body: Buffer,
  format: ExpositionFormat,
  config: ScrapeConfig,
  page: PageIntake,
): PlainPage | undefined {
  const { counts } = page;
  const layout = format === "protobuf" ? undefined : RepeatedPage.of(body, counts.scraped);
  if (layout === undefined) return undefined;
  return {
    layout,
    format,
    config,
    places: page.placesOfPlain(),
    added: page.added,
    outcome: { error: undefined, ...counts, seriesAdded: 0 },
  };
}

/** Shared by all series that relabeling drops; only their text is stored. */
const droppedSeries: CachedSeries = {
  slot: -1,
  hash: 0,
  batch: -1,
  place: 0,
  page: -1,
  isNew: false,
};

/** FNV-1a over names and values, to compare series before their bytes. */
function hashOf(labels: LabelSet): number {
  let hash = 0x811c9dc5;
  for (const pair of labels)
    for (const text of pair) {
      for (let at = 0; at < text.length; at++)
        hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
      hash = Math.imul(hash ^ 0xff, 0x01000193);
    }
  return hash | 0;
}
