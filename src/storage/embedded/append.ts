/**
 * Appends samples: they are collected in columns and committed together, with one write to the log. A sample that is not
 * in the log is not in the store; rejected samples are counted with their reason.
 */
import { type SampleBatch, wordsOf } from "../../formats/samples/batch.ts";
import { hashWords, LabelHasher } from "../../formats/samples/label-hash.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import type { LabelSet } from "../../model/labels.ts";
import { type Histogram, withoutResetClaim } from "../../model/histogram/histogram.ts";
import { clearHistogramWords, histogramHigh } from "../../model/histogram/word.ts";
import { unstorable } from "./codec/histogram-bytes.ts";
import { histogramIn } from "./codec/histogram-encode.ts";
import type { LabelIndex } from "./index/index.ts";
import type { RawLabels } from "./index/raw-labels.ts";
import type { LookupResult } from "./lookup.ts";
import type { AppendResult, RefusedSample } from "./options.ts";
import type { SeriesBudget } from "./series-budget.ts";
import { putStale } from "../../model/stale.ts";
import { noHistograms, type WalSampleColumns } from "./wal/records.ts";

/** Series number for samples that are to be rejected because there are too many series. */
export const refusedByLimit = 0xffffffff;
const maxRefusals = 10;

/** The parts of the store that an appender uses. */
export interface AppendTarget {
  readonly index: LabelIndex;
  readonly rawLabels: RawLabels;
  readonly budget: SeriesBudget;
  readonly minTimeMs: number;
  /**
   * True if sample `i` is newer than all samples of its series, the common case. Takes the columns, because passing the
   * time as a number would allocate.
   */
  isNewer(columns: WalSampleColumns, i: number): boolean;
  lookUp(columns: WalSampleColumns, i: number): LookupResult;
  /** Called for a series that is not in the log yet. */
  created(ref: number, labels: LabelSet): void;
  log(columns: WalSampleColumns): void;
  keep(columns: WalSampleColumns, i: number, late: boolean): void;
  count(result: AppendResult): void;
}

interface Tally {
  stored: number;
  late: number;
  duplicates: number;
  refusedConflicts: number;
  refusedTooOld: number;
  refusedByLimit: number;
  refusals: RefusedSample[];
  reason?: string;
}

export class Appender {
  /** The client whose samples come next; undefined for the hub's own. */
  client: string | undefined;
  readonly #target: AppendTarget;
  #refs = new Uint32Array(1024);
  #times = new Float64Array(1024);
  #values = new Float64Array(1024);
  #words = new Uint32Array(this.#values.buffer);
  /** Native histograms of the collected samples. */
  #histograms: Histogram[] = [];
  #columns = this.#asColumns();
  /** True if the current batch skips samples that are not newer than all samples of their series. */
  #isOnlyNewer = false;
  #n = 0;
  readonly #hasher = new LabelHasher();
  /** For the current batch: label hashes if it carries none, and the series numbers. */
  #hashes = new Uint32Array(1024 * hashWords);
  #seriesRefs = new Uint32Array(1024);

  constructor(target: AppendTarget) {
    this.#target = target;
  }

  /**
   * Returns the series of a label set (sorted by name, no empty values) and creates it if it is new; `refusedByLimit` if
   * a limit forbids that.
   */
  ref(labels: LabelSet): number {
    const { index, budget } = this.#target;
    const known = index.find(labels);
    if (known !== undefined) {
      budget.claim(known, this.client);
      return known;
    }
    if (!budget.mayCreate(labels, index, this.client)) return refusedByLimit;
    const ref = index.add(labels);
    budget.created(ref, labels, this.client);
    this.#target.created(ref, labels);
    return ref;
  }

  /** Like `ref`, for the hash of a label block at `hashes[at]`; `decode` is called only if the series is new. */
  rawRef(hashes: Uint32Array, at: number, decode: () => LabelSet): number {
    const { rawLabels } = this.#target;
    const known = rawLabels.find(hashes, at);
    if (known >= 0) {
      this.#target.budget.claim(known, this.client);
      return known;
    }
    const ref = this.ref(decode());
    // Not cached if rejected, because the series may be accepted later.
    if (ref !== refusedByLimit) rawLabels.put(hashes, at, ref);
    return ref;
  }

  /** Collects the samples of a batch, and looks up or creates its series. */
  addBatch(batch: SampleBatch): void {
    const { sampleCount, sampleSeries, times } = batch;
    const seriesRefs = this.#refsOf(batch);
    const start = this.#n;
    while (start + sampleCount > this.#refs.length) this.#grow();
    const refs = this.#refs;
    for (let i = 0; i < sampleCount; i++)
      refs[start + i] = seriesRefs[sampleSeries[i] as number] as number;
    this.#times.set(times, start);
    this.#words.set(wordsOf(batch), start * 2);
    this.#n = start + sampleCount;
    this.#isOnlyNewer = batch.isOnlyNewer === true;
    if (batch.histograms !== undefined) this.#addHistograms(batch.histograms, start);
    // A NaN with the bits of a histogram word must not refer to a histogram of another batch.
    else if (this.#histograms.length > 0) clearHistogramWords(this.#words, start, this.#n);
  }

  #addHistograms(histograms: readonly Histogram[], start: number): void {
    const words = this.#words;
    for (let i = start; i < this.#n; i++) {
      if (words[i * 2 + 1] !== histogramHigh) continue;
      const histogram = histogramIn(words, i, histograms);
      if (histogram === undefined) clearHistogramWords(words, i, i + 1);
      else words[i * 2] = this.#histograms.push(withoutResetClaim(histogram)) - 1;
    }
  }

  #refsOf(batch: SampleBatch): Uint32Array {
    const { bytes, labelStarts, labelEnds, seriesCount } = batch;
    if (this.#seriesRefs.length < seriesCount) {
      this.#seriesRefs = new Uint32Array(seriesCount * 2);
      this.#hashes = new Uint32Array(seriesCount * 2 * hashWords);
    }
    const refs = this.#seriesRefs;
    const hashes = batch.labelHashes ?? this.#hashes;
    if (batch.labelHashes === undefined)
      this.#hasher.hashAll(bytes, labelStarts, labelEnds, seriesCount, hashes);
    const { rawLabels, budget } = this.#target;
    for (let series = 0; series < seriesCount; series++) {
      const known = rawLabels.find(hashes, series * hashWords);
      if (known >= 0) {
        budget.claim(known, this.client);
        refs[series] = known;
        continue;
      }
      refs[series] = this.#newRef(batch, hashes, series);
    }
    return refs;
  }

  /** A method of its own: a function in the loop would allocate its variables for every series, known ones too. */
  #newRef(
    { bytes, labelStarts, labelEnds }: SampleBatch,
    hashes: Uint32Array,
    series: number,
  ): number {
    return this.rawRef(hashes, series * hashWords, () =>
      readLabelBlock(bytes, labelStarts[series] as number, labelEnds[series] as number),
    );
  }

  /** Use `addBits` for a NaN whose payload matters: a number may lose it. */
  add(ref: number, timeMs: number, value: number): void {
    const i = this.#next(ref, timeMs);
    this.#values[i] = value;
  }

  /** Adds one value per series, all with the same timestamp; the bits are preserved. */
  addColumns(refs: Uint32Array, timeMs: number, values: Float64Array): void {
    const start = this.#n;
    const end = start + refs.length;
    while (end > this.#refs.length) this.#grow();
    this.#refs.set(refs, start);
    this.#times.fill(timeMs, start, end);
    this.#values.set(values, start);
    this.#n = end;
  }

  addBits(ref: number, timeMs: number, low: number, high: number): void {
    const i = this.#next(ref, timeMs);
    this.#words[i * 2] = low;
    this.#words[i * 2 + 1] = high;
  }

  addHistogram(ref: number, timeMs: number, histogram: Histogram): void {
    this.addBits(
      ref,
      timeMs,
      this.#histograms.push(withoutResetClaim(histogram)) - 1,
      histogramHigh,
    );
  }

  addStale(ref: number, timeMs: number): void {
    putStale(this.#words, this.#next(ref, timeMs));
  }

  /** Number of collected samples that are not committed. */
  get pending(): number {
    return this.#n;
  }

  /** Discards the collected samples. */
  discard(): void {
    this.#n = 0;
    if (this.#histograms.length > 0) this.#histograms = [];
  }

  /** Stores every collected sample that is acceptable. Throws a StoreError, with nothing stored, if the log write fails. */
  commit(): AppendResult {
    const tally = newTally();
    const columns = this.#columns;
    const gathered = this.#n;
    columns.histograms = this.#histograms;
    this.discard();
    const n = this.#sift(gathered, tally);
    if (n > 0) {
      columns.n = n;
      this.#target.log(columns);
      appendAll(this.#target, columns, tally);
    }
    const { reason } = this.#target.budget;
    if (tally.refusedByLimit > 0 && reason !== undefined) tally.reason ??= reason;
    columns.histograms = [];
    columns.encoded = noHistograms;
    this.#isOnlyNewer = false;
    this.#target.count(tally);
    return tally;
  }

  /** Moves the acceptable samples to the front. */
  #sift(gathered: number, tally: Tally): number {
    const target = this.#target;
    const { minTimeMs, index } = target;
    const columns = this.#columns;
    const { refs, times, words } = columns;
    const histograms: Histogram[] = [];
    let n = 0;
    for (let i = 0; i < gathered; i++) {
      const ref = refs[i] as number;
      const timeMs = times[i] as number;
      if (this.#isOnlyNewer && !this.#isNewer(i)) continue;
      if (ref === refusedByLimit) refuse(tally, "limit", ref, timeMs);
      else if (!(timeMs >= minTimeMs) || !Number.isSafeInteger(timeMs))
        refuse(tally, "too old", ref, timeMs);
      else if (words[i * 2 + 1] === histogramHigh && !this.#isStorable(i, tally))
        refuse(tally, "limit", ref, timeMs);
      else {
        if (!index.table.isAlive(ref))
          throw new Error(`BUG: series ${ref} was dropped between its look-up and the commit`);
        if (!target.isNewer(columns, i)) {
          const found = target.lookUp(columns, i);
          if (found === "same") {
            tally.duplicates++;
            continue;
          }
          if (found === "other") {
            refuse(tally, "conflict", ref, timeMs);
            continue;
          }
        }
        if (n < i) {
          refs[n] = ref;
          times[n] = timeMs;
          words[n * 2] = words[i * 2] as number;
          words[n * 2 + 1] = words[i * 2 + 1] as number;
        }
        if (words[n * 2 + 1] === histogramHigh) {
          const histogram = histogramIn(words, n, columns.histograms) as Histogram;
          words[n * 2] = histograms.push(histogram) - 1;
        }
        n++;
      }
    }
    columns.histograms = histograms;
    return n;
  }

  /** True if the sample can be appended after the other samples of its series. */
  #isNewer(i: number): boolean {
    const { refs, times } = this.#columns;
    const isKnown = refs[i] !== refusedByLimit && (times[i] as number) >= this.#target.minTimeMs;
    return isKnown && this.#target.isNewer(this.#columns, i);
  }

  /** Checks a native histogram. A NaN with the bits of a histogram word becomes an ordinary NaN. */
  #isStorable(i: number, tally: Tally): boolean {
    const { words, histograms } = this.#columns;
    const histogram = histogramIn(words, i, histograms);
    if (histogram === undefined) clearHistogramWords(words, i, i + 1);
    const reason = histogram && unstorable(histogram);
    if (reason !== undefined) tally.reason ??= reason;
    return reason === undefined;
  }

  #next(ref: number, timeMs: number): number {
    const i = this.#n++;
    if (i === this.#refs.length) this.#grow();
    this.#refs[i] = ref;
    this.#times[i] = timeMs;
    return i;
  }

  #grow(): void {
    const length = this.#refs.length * 2;
    const [refs, times, words] = [this.#refs, this.#times, this.#words];
    this.#refs = new Uint32Array(length);
    this.#times = new Float64Array(length);
    this.#values = new Float64Array(length);
    this.#words = new Uint32Array(this.#values.buffer);
    this.#refs.set(refs);
    this.#times.set(times);
    this.#words.set(words);
    this.#columns = this.#asColumns();
  }

  #asColumns(): WalSampleColumns & { n: number; histograms: readonly Histogram[] } {
    return {
      n: 0,
      histograms: [],
      encoded: noHistograms,
      refs: this.#refs,
      times: this.#times,
      values: this.#values,
      words: this.#words,
    };
  }
}

/** Adds logged samples to the head. Finds duplicates within a batch, like a replay of the log does. */
export function appendAll(
  target: Pick<AppendTarget, "isNewer" | "lookUp" | "keep">,
  columns: WalSampleColumns,
  tally: Tally,
): void {
  const { n, refs, times } = columns;
  for (let i = 0; i < n; i++) {
    if (target.isNewer(columns, i)) {
      target.keep(columns, i, false);
      tally.stored++;
      continue;
    }
    const ref = refs[i] as number;
    const timeMs = times[i] as number;
    const found = target.lookUp(columns, i);
    if (found === "same") tally.duplicates++;
    else if (found === "other") refuse(tally, "conflict", ref, timeMs);
    else {
      target.keep(columns, i, true);
      tally.stored++;
      tally.late++;
    }
  }
}

export const newTally = (): Tally => ({
  stored: 0,
  late: 0,
  duplicates: 0,
  refusedConflicts: 0,
  refusedTooOld: 0,
  refusedByLimit: 0,
  refusals: [],
});

function refuse(tally: Tally, why: RefusedSample["why"], ref: number, timeMs: number): void {
  if (why === "conflict") tally.refusedConflicts++;
  else if (why === "limit") tally.refusedByLimit++;
  else tally.refusedTooOld++;
  if (tally.refusals.length < maxRefusals) tally.refusals.push({ ref, timeMs, why });
}

/** Looks up every series of the batch and commits, without yielding in between. */
export function appendBatch(appender: Appender, batch: SampleBatch): AppendResult {
  appender.discard();
  appender.addBatch(batch);
  return appender.commit();
}
