/** The labels that many series of a place share, encoded once; a series puts its name and at most one label of its own between. */
import type { Label } from "../../../model/labels.ts";
import type { LabelBlockWriter } from "../../samples/block.ts";

export class EncodedLabels {
  readonly #labels: readonly Label[];
  readonly #block: Uint8Array;
  /** Where each label begins in the block, and where the last ends. */
  readonly #starts: readonly number[];
  readonly #nameAt: number;

  /** @param labels in order, none of them `__name__` or twice; the writer is only borrowed */
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

  /** Writes all of them with an encoded name; the extra label wins over one of the same name. */
  write(into: LabelBlockWriter, name: Uint8Array, extra: Label | undefined): void {
    const block = this.#block;
    const nameStart = this.#starts[this.#nameAt] as number;
    if (extra === undefined) {
      into.append(block, 0, nameStart);
      into.append(name, 0, name.length);
      into.append(block, nameStart, block.length);
      return;
    }
    // Whatever the extra label is named, it comes after the metric's name: le, quantile.
    const extraAt = this.#place(extra[0]);
    const extraStart = this.#starts[extraAt] as number;
    into.append(block, 0, nameStart);
    into.append(name, 0, name.length);
    into.append(block, nameStart, extraStart);
    into.label(...extra);
    const isSame = this.#labels[extraAt]?.[0] === extra[0];
    into.append(block, (isSame ? this.#starts[extraAt + 1] : extraStart) as number, block.length);
  }

  /** How many labels come before one of this name. */
  #place(name: string): number {
    const labels = this.#labels;
    let at = 0;
    while (at < labels.length && (labels[at] as Label)[0] < name) at++;
    return at;
  }
}
