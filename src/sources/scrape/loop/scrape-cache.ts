/**
 * The series of one target across scrapes: each series' labels are worked out once, its label block is kept, and a page
 * becomes a batch by looking lines up. Knows which series ended. One page is all there or not there at all.
 */
import { formatOf, parsePage } from "../../../formats/exposition/parse.ts";
import { SeriesMemory } from "../../../formats/exposition/series-memory.ts";
import type { PageVisitor } from "../../../formats/exposition/visit.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import { BatchBuilder } from "../../../formats/samples/builder.ts";
import { BatchColumns } from "../../../formats/samples/columns.ts";
import { hashWords, LabelHasher } from "../../../formats/samples/label-hash.ts";
import { type LabelSet, labelSet } from "../../../model/labels.ts";
import { putStale } from "../../../model/stale.ts";
import type { ScrapeConfig } from "../config/types.ts";
import { checkLabels, ScrapeRejectedError, sampleLabels } from "./sample-labels.ts";
import { MetadataPage } from "./metadata-page.ts";
import { type ReportName, usualReports } from "./report.ts";

/** A series as the page knows it. */
export interface CachedSeries {
  /** Its place in the arena; -1 where relabelling drops it. */
  slot: number;
  readonly hash: number;
  /** The batch it is in, and where there. */
  batch: number;
  place: number;
  /** The last page whose end would have ended it. */
  page: number;
  isNew: boolean;
}

export interface PageOutcome {
  /** Why the whole page is rejected. */
  readonly error: Error | undefined;
  readonly scraped: number;
  readonly kept: number;
  readonly seriesAdded: number;
  /** Duplicate series on the page; the first one counts. */
  readonly duplicates: number;
  /** Too far in the future. */
  readonly outOfBounds: number;
}

type SeriesColumns = Pick<
  SampleBatch,
  "bytes" | "seriesCount" | "labelStarts" | "labelEnds" | "labelHashes"
>;

const hasher = new LabelHasher();
const maxAheadMs = 600_000;
const spareSlots = 1_000;

export class ScrapeCache {
  readonly metadata = new MetadataPage();
  readonly #target: LabelSet;
  #memory = new SeriesMemory<CachedSeries>();
  /** Label blocks by slot; the reports' come first. */
  #arena = new BatchBuilder();
  readonly #reports: ReadonlyMap<ReportName, CachedSeries>;
  #tracked: CachedSeries[] = [];
  #samples = new BatchColumns();
  #slots: number[] = [];
  #lastColumns: { readonly slots: readonly number[]; readonly columns: SeriesColumns } | undefined;
  #batch = 0;
  #page = 0;

  /** @param target the labels that every series of it carries */
  constructor(target: LabelSet, reports: readonly ReportName[] = usualReports) {
    this.#target = target;
    this.#reports = new Map(
      reports.map((name) => [
        name,
        this.#known(labelSet({ ...Object.fromEntries(target), __name__: name })),
      ]),
    );
  }

  /** Begins a batch with a page. An empty page, or none, ends every series. */
  takePage(
    body: Buffer,
    contentType: string | undefined,
    timeMs: number,
    nowMs: number,
    config: ScrapeConfig,
  ): PageOutcome {
    this.#begin();
    const counts = { scraped: 0, kept: 0, seriesAdded: 0, duplicates: 0, outOfBounds: 0 };
    const tracked: CachedSeries[] = [];
    const page = ++this.#page;
    const limit = config.limits.samples;
    let appended = 0;
    const visitor: PageVisitor<CachedSeries> = {
      open: (exposed, emptied) => {
        try {
          return this.#open(exposed, emptied, config);
        } catch (thrown) {
          counts.scraped++;
          throw thrown;
        }
      },
      sample: (series, value, ownTimeMs) => {
        counts.scraped++;
        if (series.slot < 0) return;
        counts.kept++;
        const explicit = config.honorTimestamps ? ownTimeMs : undefined;
        if (explicit !== undefined && explicit > nowMs + maxAheadMs) {
          counts.outOfBounds++;
          return;
        }
        if (limit > 0 && ++appended > limit) return;
        if (explicit === undefined && series.batch === this.#batch) {
          counts.duplicates++;
          return;
        }
        if (series.isNew) {
          series.isNew = false;
          counts.seriesAdded++;
        }
        this.#add(series, explicit ?? timeMs, value);
        if (explicit === undefined || config.trackTimestampsStaleness) {
          if (series.page !== page) tracked.push(series);
          series.page = page;
        }
      },
      metadata: (kind, family, text) => this.metadata.set(kind, family, text),
    };
    let error = this.#read(body, contentType, config, visitor);
    if (error === undefined && limit > 0 && appended > limit)
      error = new ScrapeRejectedError(`sample limit exceeded (limit: ${limit})`);
    if (error === undefined) this.#endTracked(tracked, timeMs);
    else {
      this.endAll(timeMs);
      counts.seriesAdded = 0;
    }
    return { error, ...counts };
  }

  /** Begins a batch in which every series ends, but not the reports. */
  endAll(timeMs: number): void {
    this.#begin();
    for (const series of this.#tracked) this.#end(series, timeMs);
    this.#tracked = [];
  }

  /** Adds to the batch that `takePage` or `endAll` has begun. */
  report(name: ReportName, timeMs: number, value: number): void {
    const series = this.#reports.get(name);
    if (series === undefined) throw new Error(`BUG: the report ${name} was not announced`);
    this.#add(series, timeMs, value);
  }

  /** What is there of the target now: its series and its reports. */
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
      metadata: this.metadata.news(),
      droppedExemplars: 0,
      refusedHistograms: [],
    };
    this.#samples = new BatchColumns(Math.max(64, batch.sampleCount));
    this.#compact();
    return batch;
  }

  /** The label blocks of the batch's series and their hashes: most pages have the series of the one before. */
  #seriesColumns(): SeriesColumns {
    const slots = this.#slots;
    const last = this.#lastColumns;
    if (last !== undefined && isSame(last.slots, slots)) return last.columns;
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
    contentType: string | undefined,
    config: ScrapeConfig,
    visitor: PageVisitor<CachedSeries>,
  ): Error | undefined {
    if (body.length === 0) return undefined;
    const format = formatOf(contentType) ?? config.fallbackFormat;
    try {
      parsePage(body, format, this.#memory, visitor);
    } catch (thrown) {
      return thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    this.#memory.endPage(() => undefined);
    return undefined;
  }

  #open(exposed: LabelSet, emptied: readonly string[], config: ScrapeConfig): CachedSeries {
    const labels = sampleLabels(exposed, emptied, this.#target, config);
    if (labels === undefined || labels.length === 0) return droppedSeries;
    checkLabels(labels, config.limits);
    return this.#known(labels);
  }

  #known(labels: LabelSet): CachedSeries {
    const slot = this.#arena.series(labels);
    return { slot, hash: hashOf(labels), batch: -1, place: 0, page: -1, isNew: true };
  }

  /** What was on the page before and is not on this one ends, unless the same labels stand there in other words. */
  #endTracked(tracked: CachedSeries[], timeMs: number): void {
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

  /** The place first: making room may replace the columns. */
  #add(series: CachedSeries, timeMs: number, value: number): void {
    const at = this.#samples.add(this.#place(series), timeMs);
    this.#samples.values[at] = value;
  }

  #place(series: CachedSeries): number {
    if (series.batch !== this.#batch) {
      series.batch = this.#batch;
      series.place = this.#slots.push(series.slot) - 1;
    }
    return series.place;
  }

  #begin(): void {
    this.#batch++;
    this.#slots = [];
    this.#samples.count = 0;
  }

  /** Label blocks of forgotten series are let go once they are the most of the arena. */
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

function isSame(some: readonly number[], others: readonly number[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false;
  return true;
}

/** Marks every series that relabeling drops: only its text is stored. */
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
  return hash >>> 0;
}
