/**
 * The labels of outgoing series: external labels are added unless the series has them, then relabeling rules are
 * applied.
 */
import { BatchBuilder } from "../formats/samples/builder.ts";
import { readLabelBlock } from "../formats/samples/labels.ts";
import type { LabelSet } from "../model/labels.ts";
import { relabel } from "../formats/relabel/relabel.ts";
import type { RelabelRule } from "../formats/relabel/rule.ts";

/** Cached blocks; when the cache is full, it is cleared. */
const maxKnown = 200_000;

export class OutgoingLabels {
  readonly #external: LabelSet;
  readonly #rules: readonly RelabelRule[];
  readonly #known = new Map<string, Uint8Array | undefined>();

  constructor(external: LabelSet, rules: readonly RelabelRule[]) {
    this.#external = external;
    this.#rules = rules;
  }

  /** True if no label can change. */
  get areSame(): boolean {
    return this.#external.length === 0 && this.#rules.length === 0;
  }

  /** Returns the label block to send; undefined if a rule dropped the series or removed its name. */
  block(bytes: Buffer, start: number, end: number): Uint8Array | undefined {
    if (this.areSame) return bytes.subarray(start, end);
    const key = bytes.toString("latin1", start, end);
    if (this.#known.has(key)) return this.#known.get(key);
    if (this.#known.size >= maxKnown) this.#known.clear();
    const made = this.#make(bytes, start, end);
    this.#known.set(key, made);
    return made;
  }

  #make(bytes: Buffer, start: number, end: number): Uint8Array | undefined {
    const own = new Map(readLabelBlock(bytes, start, end));
    for (const [name, value] of this.#external) if (!own.has(name)) own.set(name, value);
    const sorted = [...own].sort(([left], [right]) => (left < right ? -1 : 1));
    const labels = relabel(sorted, this.#rules);
    if (labels === undefined || !labels.some(([name]) => name === "__name__")) return undefined;
    const builder = new BatchBuilder();
    builder.series(labels);
    return builder.finish().bytes;
  }
}
