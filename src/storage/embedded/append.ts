/**
 * Appends samples: they are gathered in columns and committed together, with one write to the log. A sample the log did not
 * accept is not in the store; refused samples are counted with their reason.
 */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { LabelIndex } from "./index/index.ts";
import type { RawLabels } from "./index/raw-labels.ts";
import type { AppendResult, RefusedSample } from "./options.ts";
import type { SeriesBudget } from "./series-budget.ts";
import { putStale } from "../../model/stale.ts";
import type { WalSampleColumns } from "./wal/records.ts";

/** Given instead of a series whose samples are to be refused because there are too many series already. */
export const refusedByLimit = 0xffffffff;
const maxRefusals = 10;

/** What an appender needs of the store. */
export interface AppendTarget {
  readonly index: LabelIndex;
  readonly rawLabels: RawLabels;
  readonly budget: SeriesBudget;
  readonly minTimeMs: number;
  /** Newer than all there is of the series: the common case, and the quick one. */
  isNewer(ref: number, timeMs: number): boolean;
  lookUp(ref: number, timeMs: number, words: Uint32Array, i: number): "nothing" | "same" | "other";
  /** A series that is not in the log yet. */
  created(ref: number, labels: LabelSet): void;
  log(columns: WalSampleColumns): void;
  keep(ref: number, timeMs: number, columns: WalSampleColumns, i: number, late: boolean): void;
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
  /** Whose samples come next; undefined for the hub's own. */
  client: string | undefined;
  readonly #target: AppendTarget;
  #refs = new Uint32Array(1024);
  #times = new Float64Array(1024);
  #values = new Float64Array(1024);
  #words = new Uint32Array(this.#values.buffer);
  #n = 0;

  constructor(target: AppendTarget) {
    this.#target = target;
  }

  /** The series of a label set (sorted by name, no empty values), made if it is new; `refusedByLimit` if it may not be. */
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

  /** The same from bytes that stand for a label set, whatever their encoding; `decode` is called only when they are new. */
  rawRef(
    bytes: Uint8Array,
    from: number,
    to: number,
    decode: (bytes: Uint8Array, from: number, to: number) => LabelSet,
  ): number {
    const { rawLabels } = this.#target;
    const known = rawLabels.find(bytes, from, to);
    if (known >= 0) {
      this.#target.budget.claim(known, this.client);
      return known;
    }
    const ref = this.ref(decode(bytes, from, to));
    // A series refused now may be accepted later.
    if (ref !== refusedByLimit) rawLabels.put(ref);
    return ref;
  }

  /** For a NaN whose bits matter use `addBits`: a number may not keep them. */
  add(ref: number, timeMs: number, value: number): void {
    const i = this.#next(ref, timeMs);
    this.#values[i] = value;
  }

  addBits(ref: number, timeMs: number, low: number, high: number): void {
    const i = this.#next(ref, timeMs);
    this.#words[i * 2] = low;
    this.#words[i * 2 + 1] = high;
  }

  addStale(ref: number, timeMs: number): void {
    putStale(this.#words, this.#next(ref, timeMs));
  }

  /** How many samples wait for `commit`. */
  get pending(): number {
    return this.#n;
  }

  /** Forgets what was gathered. */
  discard(): void {
    this.#n = 0;
  }

  /** Stores every gathered sample that is allowed. Throws a StoreError, with nothing stored, if the log cannot be written. */
  commit(): AppendResult {
    const tally = newTally();
    const gathered = this.#n;
    this.#n = 0;
    const n = this.#sift(gathered, tally);
    if (n > 0) {
      const columns: WalSampleColumns = {
        n,
        refs: this.#refs,
        times: this.#times,
        values: this.#values,
        words: this.#words,
      };
      this.#target.log(columns);
      appendAll(this.#target, columns, tally);
    }
    const { reason } = this.#target.budget;
    if (tally.refusedByLimit > 0 && reason !== undefined) tally.reason = reason;
    this.#target.count(tally);
    return tally;
  }

  /** Moves the allowed samples to the front. */
  #sift(gathered: number, tally: Tally): number {
    const target = this.#target;
    const { minTimeMs, index } = target;
    const [refs, times, words] = [this.#refs, this.#times, this.#words];
    let n = 0;
    for (let i = 0; i < gathered; i++) {
      const ref = refs[i] as number;
      const timeMs = times[i] as number;
      if (ref === refusedByLimit) refuse(tally, "limit", ref, timeMs);
      else if (!(timeMs >= minTimeMs) || !Number.isSafeInteger(timeMs))
        refuse(tally, "too old", ref, timeMs);
      else {
        if (!index.table.isAlive(ref))
          throw new Error(`BUG: series ${ref} was dropped between its look-up and the commit`);
        if (!target.isNewer(ref, timeMs)) {
          const found = target.lookUp(ref, timeMs, words, i);
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
        n++;
      }
    }
    return n;
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
  }
}

/** Puts logged samples into the head; duplicates within a batch are found here, as they are when the log is replayed. */
export function appendAll(
  target: Pick<AppendTarget, "isNewer" | "lookUp" | "keep">,
  columns: WalSampleColumns,
  tally: Tally,
): void {
  const { n, refs, times, words } = columns;
  for (let i = 0; i < n; i++) {
    const ref = refs[i] as number;
    const timeMs = times[i] as number;
    if (target.isNewer(ref, timeMs)) {
      target.keep(ref, timeMs, columns, i, false);
      tally.stored++;
      continue;
    }
    const found = target.lookUp(ref, timeMs, words, i);
    if (found === "same") tally.duplicates++;
    else if (found === "other") refuse(tally, "conflict", ref, timeMs);
    else {
      target.keep(ref, timeMs, columns, i, true);
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

/** Looks up every series of the batch and commits in the same turn. */
export function appendBatch(appender: Appender, batch: SampleBatch): AppendResult {
  const { bytes, labelStarts, labelEnds, seriesCount, sampleCount, sampleSeries, times, values } =
    batch;
  appender.discard();
  const refs = new Uint32Array(seriesCount);
  for (let series = 0; series < seriesCount; series++) {
    const start = labelStarts[series] ?? 0;
    const end = labelEnds[series] ?? 0;
    refs[series] = appender.rawRef(bytes, start, end, readLabelBlock);
  }
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  for (let sample = 0; sample < sampleCount; sample++) {
    appender.addBits(
      refs[sampleSeries[sample] ?? 0] ?? 0,
      times[sample] ?? 0,
      words[sample * 2] ?? 0,
      words[sample * 2 + 1] ?? 0,
    );
  }
  return appender.commit();
}
