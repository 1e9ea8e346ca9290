/**
 * Reads series log records of format version 1, with label strings in separate records, referenced by number.
 *
 *   symbols: u8 1, varint first id, varint count, then per symbol: varint bytes, text
 *   series:  u8 2, varint count, then per series: zigzag-varint ref - ref before, varint labels, per label: varint name, varint value (symbol ids)
 */
import { readVarint, unzigzag } from "../codec/varint.ts";
import type { LabelIndex } from "../index/index.ts";

const typeSymbols = 1;
const typeSeries = 2;

export class OldSeriesRecords {
  readonly #index: LabelIndex;
  readonly #fileBytes: number;
  readonly #names = new Uint32Array(1024);
  readonly #values = new Uint32Array(1024);
  /** Lost symbols; series that refer to them are lost too. */
  readonly #holes = new Set<number>();
  lostSeries = 0;

  constructor(index: LabelIndex, fileBytes: number) {
    this.#index = index;
    this.#fileBytes = fileBytes;
  }

  read(payload: Buffer): void {
    if (payload[0] === typeSymbols) this.#readSymbols(payload);
    else if (payload[0] === typeSeries) this.#readSeries(payload);
    else throw new RangeError(`record type ${payload[0]} is not known`);
  }

  #readSymbols(payload: Buffer): void {
    const { symbols } = this.#index;
    const cursor = { at: 1 };
    const first = readVarint(payload, cursor);
    // Each earlier symbol takes at least one byte, so an id beyond the file size is invalid.
    if (first > this.#fileBytes)
      throw new RangeError("it names more labels than the file can hold");
    while (symbols.count < first) this.#holes.add(symbols.skip());
    for (let left = readVarint(payload, cursor); left > 0; left--) {
      const length = readVarint(payload, cursor);
      const text = payload.toString("utf8", cursor.at, cursor.at + length);
      // A duplicate string is damage; it still uses up a number, so that later symbols keep theirs.
      if (symbols.find(text) === undefined) symbols.intern(text);
      else this.#holes.add(symbols.skip());
      cursor.at += length;
    }
  }

  #readSeries(payload: Buffer): void {
    const index = this.#index;
    const isWhole = (symbol: number): boolean =>
      symbol < index.symbols.count && !this.#holes.has(symbol);
    const cursor = { at: 1 };
    const [names, values] = [this.#names, this.#values];
    let ref = 0;
    for (let left = readVarint(payload, cursor); left > 0; left--) {
      ref += unzigzag(readVarint(payload, cursor));
      const labels = readVarint(payload, cursor);
      let whole = labels <= names.length;
      for (let i = 0; i < labels; i++) {
        const [name, value] = [readVarint(payload, cursor), readVarint(payload, cursor)];
        [names[i], values[i]] = [name, value];
        whole &&= isWhole(name) && isWhole(value);
      }
      if (index.table.isAlive(ref)) index.drop(ref);
      if (whole) index.addSymbols(names, values, labels, ref);
      else this.lostSeries++;
    }
  }
}
