/**
 * Reads a text page whose bytes are those of an earlier page except for the values, as nearly every scrape's are: the bytes between
 * the values are compared and only the values are parsed. No string or object is made of a sample.
 *
 *   page = fixed *(value fixed)      each fixed part but the first begins with the line break after a value
 */
import { putFloatLine, readFloat } from "./number.ts";

/** The values of the page read last; valid until the next one is read. */
let scratch = new Float64Array(1_024);

export class RepeatedPage {
  /** The fixed parts, one after the other. */
  readonly #fixed: Buffer;
  readonly #view: DataView;
  /** Their lengths: one more than values. */
  readonly #lengths: Uint32Array;

  private constructor(fixed: Buffer, lengths: Uint32Array) {
    this.#fixed = fixed;
    this.#view = viewOf(fixed);
    this.#lengths = lengths;
  }

  /**
   * The layout of a page that was read without errors and has `samples` samples, none with a timestamp or an exemplar. Undefined
   * if a line ends in another way than with its value.
   */
  static of(page: Buffer, samples: number): RepeatedPage | undefined {
    const lengths = new Uint32Array(samples + 1);
    const fixed = Buffer.allocUnsafe(page.length);
    let [values, fixedAt, from] = [0, 0, 0];
    for (let start = 0; start < page.length;) {
      const end = page.indexOf(10, start);
      if (end === -1) return undefined;
      if (end > start && page[start] !== 35) {
        const valueAt = page.lastIndexOf(32, end) + 1;
        if (valueAt <= start || values === samples || readFloat(page, valueAt, end) === undefined)
          return undefined;
        fixedAt += page.copy(fixed, fixedAt, from, valueAt);
        lengths[values++] = valueAt - from;
        from = end;
      }
      start = end + 1;
    }
    if (values !== samples) return undefined;
    fixedAt += page.copy(fixed, fixedAt, from);
    lengths[values] = page.length - from;
    // A copy of its own size, outside of Buffer's pool.
    return new RepeatedPage(
      Buffer.from(new Uint8Array(fixed.subarray(0, fixedAt)).buffer),
      lengths,
    );
  }

  /** The page's values in its order, in a column that the next call overwrites; undefined if anything else differs. */
  read(page: Buffer): Float64Array | undefined {
    const lengths = this.#lengths;
    const values = lengths.length - 1;
    if (scratch.length < values) scratch = new Float64Array(2 * values);
    const view = viewOf(page);
    let at = 0;
    let from = 0;
    for (let i = 0; i < values; i++) {
      const length = lengths[i] as number;
      if (!this.#isAt(page, view, at, from, length)) return undefined;
      from += length;
      at = putFloatLine(page, at + length, scratch, i);
      if (at === -1) return undefined;
    }
    const last = lengths[values] as number;
    return at + last === page.length && this.#isAt(page, view, at, from, last)
      ? scratch
      : undefined;
  }

  /** Four bytes at a time: half of the time of single ones, and a native comparison per line takes more than either. */
  #isAt(page: Buffer, view: DataView, start: number, fixedStart: number, length: number): boolean {
    const end = start + length;
    if (end > page.length) return false;
    const fixed = this.#fixed;
    const fixedView = this.#view;
    let at = start;
    let from = fixedStart;
    for (; at + 4 <= end; at += 4, from += 4)
      if (view.getInt32(at, true) !== fixedView.getInt32(from, true)) return false;
    for (; at < end; at++, from++) if (page[at] !== fixed[from]) return false;
    return true;
  }
}

const viewOf = ({ buffer, byteOffset, byteLength }: Buffer): DataView =>
  new DataView(buffer, byteOffset, byteLength);
