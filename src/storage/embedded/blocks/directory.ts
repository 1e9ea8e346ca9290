/** Parses a block's sections into arrays of numbers: series, the position of each column, its timestamps. */
import { readVarint, unzigzag } from "../codec/varint.ts";
import { largestRef } from "../index/series.ts";
import { BlockDamagedError, type Footer } from "./format.ts";

/** A rollup has up to eight columns per series. */
const largestColumn = largestRef * 8 + 7;

/** Parallel arrays in ascending order of `refs`. */
export interface Directory {
  readonly refs: Uint32Array;
  readonly page: Uint32Array;
  readonly offset: Uint32Array;
  readonly timebase: Uint32Array;
}

export interface TimebaseTable {
  readonly count: Uint32Array;
  readonly firstMs: Float64Array;
  readonly lastMs: Float64Array;
  /** Offset of each column in the section. */
  readonly at: Uint32Array;
  readonly bytes: Uint8Array;
}

export interface PageTable {
  readonly offset: Float64Array;
  readonly storedBytes: Uint32Array;
  readonly plainBytes: Uint32Array;
  readonly crc: Uint32Array;
  readonly method: Uint8Array;
}

export function parseDirectory(bytes: Uint8Array, { series, pages }: Footer): Directory {
  const cursor = { at: 0 };
  const perPage = Array.from({ length: pages }, () => readVarint(bytes, cursor));
  const [ref, page, offset, timebase] = [0, 1, 2, 3].map(() => new Uint32Array(series)) as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  let [i, lastRef, lastTimebase, ascending, highest] = [0, 0, 0, true, 0];
  perPage.forEach((columns, number) => {
    let at = 0;
    for (let column = 0; column < columns; column++, i++) {
      const next = lastRef + unzigzag(readVarint(bytes, cursor));
      ascending &&= i === 0 || next > lastRef;
      lastRef = next;
      lastTimebase += unzigzag(readVarint(bytes, cursor));
      if (!(lastRef >= 0 && lastRef <= largestColumn))
        throw new BlockDamagedError("its directory names a series that cannot be");
      if (i >= series) throw new BlockDamagedError("its directory has more series than its footer");
      ref[i] = lastRef;
      page[i] = number;
      offset[i] = at;
      timebase[i] = lastTimebase;
      at += readVarint(bytes, cursor);
      highest = Math.max(highest, lastRef);
    }
  });
  if (i !== series) throw new BlockDamagedError("its directory has fewer series than its footer");
  if (ascending) return { refs: ref, page, offset, timebase };
  return sortByRef({ refs: ref, page, offset, timebase }, highest);
}

/** Series numbers have no large gaps, so a counting sort is cheaper than comparisons. */
function sortByRef(from: Directory, highest: number): Directory {
  if (highest > from.refs.length * 256 + 1_048_576) return sortByComparing(from);
  const place = new Uint32Array(highest + 1);
  const count = from.refs.length;
  for (let i = 0; i < count; i++) place[from.refs[i] as number] = i + 1;
  const sorted = {
    refs: new Uint32Array(count),
    page: new Uint32Array(count),
    offset: new Uint32Array(count),
    timebase: new Uint32Array(count),
  };
  let n = 0;
  for (let ref = 0; ref <= highest; ref++) {
    const i = (place[ref] as number) - 1;
    if (i < 0) continue;
    sorted.refs[n] = ref;
    sorted.page[n] = from.page[i] as number;
    sorted.offset[n] = from.offset[i] as number;
    sorted.timebase[n] = from.timebase[i] as number;
    n++;
  }
  if (n !== count) throw new BlockDamagedError("a series occurs twice in its directory");
  return sorted;
}

/** For gaps so large that a counting sort would need gigabytes. */
function sortByComparing(from: Directory): Directory {
  const order = Uint32Array.from(from.refs, (_, i) => i);
  order.sort((left, right) => (from.refs[left] as number) - (from.refs[right] as number));
  const picked = (column: Uint32Array): Uint32Array =>
    Uint32Array.from(order, (i) => column[i] as number);
  const refs = picked(from.refs);
  if (refs.some((ref, i) => i > 0 && ref === refs[i - 1]))
    throw new BlockDamagedError("a series occurs twice in its directory");
  return {
    refs,
    page: picked(from.page),
    offset: picked(from.offset),
    timebase: picked(from.timebase),
  };
}

export function parseTimebases(bytes: Uint8Array, { timebases }: Footer): TimebaseTable {
  const cursor = { at: 0 };
  const table = {
    count: new Uint32Array(timebases),
    firstMs: new Float64Array(timebases),
    lastMs: new Float64Array(timebases),
    at: new Uint32Array(timebases),
    bytes,
  };
  for (let i = 0; i < timebases; i++) {
    table.count[i] = readVarint(bytes, cursor);
    const first = readVarint(bytes, cursor);
    table.firstMs[i] = first;
    table.lastMs[i] = first + readVarint(bytes, cursor);
    const length = readVarint(bytes, cursor);
    table.at[i] = cursor.at;
    cursor.at += length;
  }
  return table;
}

export function parsePageTable(
  bytes: Uint8Array,
  { pages }: Footer,
  firstOffset: number,
): PageTable {
  const cursor = { at: 0 };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const table = {
    offset: new Float64Array(pages),
    storedBytes: new Uint32Array(pages),
    plainBytes: new Uint32Array(pages),
    crc: new Uint32Array(pages),
    method: new Uint8Array(pages),
  };
  let offset = firstOffset;
  for (let i = 0; i < pages; i++) {
    table.method[i] = readVarint(bytes, cursor);
    const stored = readVarint(bytes, cursor);
    table.offset[i] = offset;
    table.storedBytes[i] = stored;
    offset += stored;
    table.plainBytes[i] = readVarint(bytes, cursor);
    table.crc[i] = view.getUint32(cursor.at, true);
    cursor.at += 4;
  }
  return table;
}
