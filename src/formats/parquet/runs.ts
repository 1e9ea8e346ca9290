/** Scans the numbers of a Parquet page without storing them, to check that the announced counts fit in its bytes. */

export interface PageReader {
  readonly view: DataView;
  offset: number;
}

export const pageReader = (bytes: Uint8Array): PageReader => ({
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  offset: 0,
});

export const isCount = (value: number | undefined, most: number): boolean =>
  value !== undefined && Number.isInteger(value) && value >= 0 && value <= most;

/**
 * Checks that runs of repeated and of bit-packed values hold exactly `count` values. The last packed run may be padded with up to
 * `fill` more.
 * @throws Error if they do not, RangeError at the end of the bytes.
 */
export function checkRuns(reader: PageReader, width: number, count: number, fill: number): void {
  if (width > 32) throw new Error("it has numbers of more than 32 bits");
  const valueBytes = Math.ceil(width / 8);
  for (let seen = 0; seen < count;) {
    const head = varint(reader);
    const isPacked = (head & 1) === 1;
    const run = isPacked ? (head >>> 1) * 8 : head >>> 1;
    if (run === 0 || run > count - seen + (isPacked ? fill : 0))
      throw new Error("it has a run longer than its page");
    const bytes = isPacked ? Math.ceil((Math.min(run, count - seen) * width) / 8) : valueBytes;
    if (reader.offset + bytes > reader.view.byteLength)
      throw new Error("it has a run beyond its page");
    reader.offset += isPacked ? (run / 8) * width : valueBytes;
    seen += run;
  }
}

/** @throws Error beyond 32 bits, RangeError at the end of the bytes. */
export function varint(reader: PageReader): number {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = reader.view.getUint8(reader.offset++);
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) {
      if (value > 0xff_ff_ff_ff) break;
      return value;
    }
  }
  throw new Error("it has a number that is too large");
}
