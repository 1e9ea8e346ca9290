/**
 * The inverted label index: label sets to series numbers and back, and the series that matchers select. It contains no
 * samples.
 */
import type { Label, LabelSet } from "../../../model/labels.ts";
import type { Matcher } from "../../../model/select.ts";
import { noStartTimes, startTimeLabel } from "../../../model/start-times.ts";
import { MatcherCache, type ReadyMatcher } from "./matcher-cache.ts";
import { Pairs } from "./pairs.ts";
import { SeriesTable } from "./series.ts";
import { Symbols } from "./symbols.ts";

/** Number of cached label pairs, a power of two; more than a few ten thousand would prolong garbage collections. */
const maxCachedLabels = 65_536;

export class LabelIndex {
  readonly symbols = new Symbols();
  readonly pairs = new Pairs();
  readonly table = new SeriesTable();
  readonly #matching = new MatcherCache(this.symbols);
  /** By the lowest bits of the pair. */
  #labels: (Label | undefined)[] = [];
  /** The pair of each cached label, plus one. */
  #labelPairs = new Uint32Array(256);
  #scratch = new Uint32Array(64);
  #isLoading = false;

  find(labels: LabelSet): number | undefined {
    let count = 0;
    for (const [name, value] of labels) {
      const [nameId, valueId] = [this.symbols.find(name), this.symbols.find(value)];
      if (nameId === undefined || valueId === undefined) return undefined;
      const pair = this.pairs.find(nameId, valueId);
      if (pair === undefined) return undefined;
      this.#scratchAt(count++, pair);
    }
    return this.table.find(this.#scratch, count);
  }

  /** Adds a label set (sorted by name, no empty values) that is not in the index yet. */
  add(labels: LabelSet, wanted?: number): number {
    let count = 0;
    for (const [name, value] of labels)
      this.#scratchAt(
        count++,
        this.pairs.intern(this.symbols.intern(name), this.symbols.intern(value)),
      );
    return this.#addPairs(count, wanted);
  }

  /** Like `add`, with the symbols from the series log. */
  addSymbols(names: Uint32Array, values: Uint32Array, count: number, wanted: number): number {
    for (let i = 0; i < count; i++)
      this.#scratchAt(i, this.pairs.intern(names[i] as number, values[i] as number));
    return this.#addPairs(count, wanted);
  }

  /**
   * Gives a label set this number; whatever had the number or the labels before is dropped. `known` holds the pairs of labels
   * resolved before: the labels of a record's series are mostly the same objects.
   */
  assign(labels: LabelSet, ref: number, known: Map<Label, number>): void {
    let count = 0;
    for (const label of labels) {
      let pair = known.get(label);
      if (pair === undefined) {
        pair = this.pairs.intern(this.symbols.intern(label[0]), this.symbols.intern(label[1]));
        known.set(label, pair);
      }
      this.#scratchAt(count++, pair);
    }
    const before = this.table.find(this.#scratch, count);
    if (before === ref) return;
    if (before !== undefined) this.drop(before);
    if (this.table.isAlive(ref)) this.drop(ref);
    this.#addPairs(count, ref);
  }

  /**
   * Runs `load` on an empty index without updating the lists of series per pair, and makes them at the end. At a start no code
   * is optimized yet: list by list, 2,560 series took 20 ms of processor time more.
   */
  load<Result>(load: () => Result): Result {
    this.#isLoading = true;
    try {
      return load();
    } finally {
      this.#isLoading = false;
      this.pairs.series.fill(this.pairs.count, (visit) => this.table.eachPair(visit));
    }
  }

  drop(ref: number): void {
    const count = this.#isLoading ? 0 : this.table.pairCount(ref);
    for (let i = 0; i < count; i++) this.pairs.series.remove(this.table.pair(ref, i), ref);
    this.table.drop(ref);
  }

  /** Drops many series at once: each posting list is filtered once, however many series leave it. */
  dropAll(refs: readonly number[]): void {
    if (this.#isLoading) {
      for (const ref of refs) this.table.drop(ref);
      return;
    }
    const marked = new Uint8Array(this.table.end);
    const touched = new Set<number>();
    for (const ref of refs) {
      marked[ref] = 1;
      const count = this.table.pairCount(ref);
      for (let i = 0; i < count; i++) touched.add(this.table.pair(ref, i));
    }
    for (const pair of touched) this.pairs.series.removeMarked(pair, marked);
    for (const ref of refs) this.table.drop(ref);
  }

  labels(ref: number): LabelSet {
    const count = this.table.pairCount(ref);
    const labels: Label[] = [];
    for (let i = 0; i < count; i++) labels.push(this.#label(this.table.pair(ref, i)));
    return labels;
  }

  /** Cached, because series share their pairs and most results consist of the same few. */
  #label(pair: number): Label {
    const slot = pair & (this.#labelPairs.length - 1);
    const known = this.#labels[slot];
    if (known !== undefined && this.#labelPairs[slot] === pair + 1) return known;
    const label: Label = [
      this.symbols.text(this.pairs.name(pair)),
      this.symbols.text(this.pairs.value(pair)),
    ];
    this.#cacheLabel(pair, label);
    return label;
  }

  #cacheLabel(pair: number, label: Label): void {
    const slots = this.#labelPairs.length;
    if (this.#labels.length === 0 || (this.pairs.count > slots && slots < maxCachedLabels)) {
      let larger = slots;
      while (larger < this.pairs.count && larger < maxCachedLabels) larger *= 2;
      this.#labelPairs = new Uint32Array(larger);
      this.#labels = Array.from<Label | undefined>({ length: larger });
    }
    const slot = pair & (this.#labelPairs.length - 1);
    this.#labels[slot] = label;
    this.#labelPairs[slot] = pair + 1;
  }

  /** Number of series with this pair. */
  seriesWith(name: string, value: string): number {
    const [nameId, valueId] = [this.symbols.find(name), this.symbols.find(value)];
    if (nameId === undefined || valueId === undefined) return 0;
    const pair = this.pairs.find(nameId, valueId);
    return pair === undefined ? 0 : this.pairs.series.length(pair);
  }

  /** Returns the series that match all matchers, in ascending order; start times only if a matcher refers to their label. */
  select(matchers: readonly Matcher[]): Uint32Array {
    const isHidden =
      this.symbols.find(startTimeLabel) !== undefined &&
      !matchers.some(({ name }) => name === startTimeLabel);
    return this.selectAll(isHidden ? [...matchers, noStartTimes] : matchers);
  }

  /** Like `select`, including the series of start times. */
  selectAll(matchers: readonly Matcher[]): Uint32Array {
    const ready = matchers.map((matcher) => this.#matching.ready(matcher));
    const narrow = ready
      .filter((matcher) => !matcher.matchesEmpty)
      .map((matcher) => this.#pairsOf(matcher))
      .sort((a, b) => a.series - b.series)[0];
    const candidates = narrow === undefined ? this.all() : this.#union(narrow.pairs);
    const rest = ready.filter((matcher) => matcher !== narrow?.matcher);
    return rest.length === 0 ? candidates : this.#filter(candidates, rest);
  }

  all(): Uint32Array {
    const refs = new Uint32Array(this.table.count);
    let count = 0;
    for (let ref = 0; ref < this.table.end; ref++) if (this.table.isAlive(ref)) refs[count++] = ref;
    return refs;
  }

  /** Returns the value symbol of a series for a name symbol. */
  valueOf(ref: number, nameId: number): number | undefined {
    const count = this.table.pairCount(ref);
    for (let i = 0; i < count; i++) {
      const pair = this.table.pair(ref, i);
      if (this.pairs.name(pair) === nameId) return this.pairs.value(pair);
    }
    return undefined;
  }

  get byteLength(): number {
    return this.table.byteLength + this.pairs.byteLength + this.symbols.textBytes * 2;
  }

  #scratchAt(index: number, pair: number): void {
    if (index >= this.#scratch.length) {
      const larger = new Uint32Array(this.#scratch.length * 2);
      larger.set(this.#scratch);
      this.#scratch = larger;
    }
    this.#scratch[index] = pair;
  }

  #addPairs(count: number, wanted?: number): number {
    const ref = this.table.add(this.#scratch, count, wanted);
    if (this.#isLoading) return ref;
    for (let i = 0; i < count; i++) this.pairs.series.add(this.#scratch[i] as number, ref);
    return ref;
  }

  #pairsOf(matcher: ReadyMatcher): { matcher: ReadyMatcher; pairs: number[]; series: number } {
    const nameId = this.symbols.find(matcher.name);
    const pairs: number[] = [];
    let series = 0;
    const take = (pair: number): void => {
      const length = this.pairs.series.length(pair);
      if (length === 0) return;
      pairs.push(pair);
      series += length;
    };
    if (nameId === undefined) return { matcher, pairs, series };
    if (matcher.literals !== undefined) {
      for (const literal of matcher.literals) {
        const valueId = this.symbols.find(literal);
        const pair = valueId === undefined ? undefined : this.pairs.find(nameId, valueId);
        if (pair !== undefined) take(pair);
      }
    } else {
      for (const pair of this.pairs.ofName.view(nameId))
        if (matcher.matches(this.pairs.value(pair))) take(pair);
    }
    return { matcher, pairs, series };
  }

  /** A series has one value per name, so the lists of one name's pairs are disjoint. */
  #union(pairs: readonly number[]): Uint32Array {
    const [only] = pairs;
    if (only === undefined) return new Uint32Array(0);
    if (pairs.length === 1) return this.pairs.series.view(only).slice();
    let total = 0;
    for (const pair of pairs) total += this.pairs.series.length(pair);
    const refs = new Uint32Array(total);
    let at = 0;
    for (const pair of pairs) {
      const view = this.pairs.series.view(pair);
      refs.set(view, at);
      at += view.length;
    }
    return refs.sort();
  }

  #filter(candidates: Uint32Array, matchers: readonly ReadyMatcher[]): Uint32Array {
    const nameIds = matchers.map((matcher) => this.symbols.find(matcher.name) ?? -1);
    let count = 0;
    for (const ref of candidates) {
      let good = true;
      for (let m = 0; good && m < matchers.length; m++) {
        const matcher = matchers[m] as ReadyMatcher;
        const value = this.valueOf(ref, nameIds[m] as number);
        good = value === undefined ? matcher.matchesEmpty : matcher.matches(value);
      }
      if (good) candidates[count++] = ref;
    }
    return candidates.slice(0, count);
  }
}
