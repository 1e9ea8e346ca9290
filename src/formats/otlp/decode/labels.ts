/** Labels shared by many series, encoded once; a series inserts its name and at most one label of its own. */
import type { Label } from "../../../model/labels.ts";
import type { LabelBlockWriter } from "../../samples/block.ts";

export class EncodedLabels {
  readonly #labels: readonly Label[];
  readonly #block: Uint8Array;
  /** The start of each label in the block, and the end of the last. */
  readonly #starts: readonly number[];
  readonly #nameAt: number;

  /** @param labels sorted, without duplicates and without `__name__`; the writer is only used during the call */
  constructor(labels: readonly Label[], writer: LabelBlockWriter) {
    const starts: number[] = [];
    writer.clear();
    for (const [name, value] of labels) {
      starts.push(writer.length);
      writer.label(name, value);
    }
    starts.push(writer.length);
    this.#labels = labels;
    this.#starts = starts;
    this.#block = writer.copy();
    this.#nameAt = this.#place("__name__");
  }

  get byteLength(): number {
    return this.#block.length;
  }

  /** Writes all labels with an encoded name; the extra label replaces one of the same name. */
  write(into: LabelBlockWriter, name: Uint8Array, extra: Label | undefined): void {
    const block = this.#block;
    const nameStart = this.#starts[this.#nameAt] as number;
    if (extra === undefined) {
      into.append(block, 0, nameStart);
      into.append(name, 0, name.length);
      into.append(block, nameStart, block.length);
      return;
    }
    // The extra label always comes after the metric's name: le, quantile.
    const extraAt = this.#place(extra[0]);
    const extraStart = this.#starts[extraAt] as number;
    into.append(block, 0, nameStart);
    into.append(name, 0, name.length);
    into.append(block, nameStart, extraStart);
    into.label(...extra);
    const isSame = this.#labels[extraAt]?.[0] === extra[0];
    into.append(block, (isSame ? this.#starts[extraAt + 1] : extraStart) as number, block.length);
  }

  /** Number of labels that sort before this name. */
  #place(name: string): number {
    const labels = this.#labels;
    let at = 0;
    while (at < labels.length && (labels[at] as Label)[0] < name) at++;
    return at;
  }
}
