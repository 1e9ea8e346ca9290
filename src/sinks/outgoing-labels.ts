/** The labels under which a series leaves: external labels where it has none of that name, then the relabelling rules. */
import { BatchBuilder } from "../formats/samples/builder.ts";
import { readLabelBlock } from "../formats/samples/labels.ts";
import type { LabelSet } from "../model/labels.ts";
import { relabel } from "../formats/relabel/relabel.ts";
import type { RelabelRule } from "../formats/relabel/rule.ts";

/** Cached blocks; beyond it each is computed again. */
const maxKnown = 200_000;

export class OutgoingLabels {
  readonly #external: LabelSet;
  readonly #rules: readonly RelabelRule[];
  readonly #known = new Map<string, Uint8Array | undefined>();

  constructor(external: LabelSet, rules: readonly RelabelRule[]) {
    this.#external = external;
    this.#rules = rules;
  }

  /** Nothing is changed at all. */
  get areSame(): boolean {
    return this.#external.length === 0 && this.#rules.length === 0;
  }

  /** The block to send; undefined where a rule dropped the series or left it without a name. */
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
