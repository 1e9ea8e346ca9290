/**
 * Checks the pages of a column before they are decoded: fifty bytes can claim to hold two billion values, and the decoder would
 * trust them. Accepts the output of any writer, and rejects counts that the bytes cannot hold.
 */
import type { ColumnMetaData, Compressors, PageHeader } from "hyparquet";
import {
  checkRuns,
  isCount,
  type PageReader,
  pageReader,
  varint,
} from "../formats/parquet/runs.ts";

/** A group is decoded at once; DuckDB writes 122,880 rows per group, others up to a million. */
export const maxGroupRows = 10_000_000;
/** Limit of one column in one group. */
const maxChunkBytes = 1024 * 1024 * 1024;
const maxPageHeaderBytes = 64 * 1024;
/** Some writers pad their last packed run to a whole number of words. */
const fill = 511;

export interface ChunkFacts {
  readonly rows: number;
  /** True if values may be null, so that definition levels precede them. */
  readonly isOptional: boolean;
  readonly compressors: Compressors;
}

/** @throws Error for an impossible page. `file` contains the column from `start` on. */
export async function checkChunk(
  file: ArrayBuffer,
  start: number,
  meta: ColumnMetaData,
  facts: ChunkFacts,
): Promise<void> {
  const { parquetHeader } = await import("hyparquet/src/column.js");
  const end = start + Number(meta.total_compressed_size);
  if (!(start >= 0 && start <= end && end <= file.byteLength))
    throw new Error("a column lies beyond the end of the file");
  let [at, unpacked, values] = [start, 0, 0];
  while (at < end - 1 && values < facts.rows) {
    const reader = {
      view: new DataView(file, at, Math.min(maxPageHeaderBytes, end - at)),
      offset: 0,
    };
    const header = parquetHeader(reader);
    at += reader.offset;
    const { compressed_page_size: packedBytes, uncompressed_page_size: bytes } = header;
    unpacked += bytes;
    if (!isCount(packedBytes, end - at)) throw new Error("a page is longer than its column");
    if (!isCount(bytes, maxChunkBytes) || unpacked > maxChunkBytes)
      throw new Error("a column unpacks to more than a gigabyte");
    const packed = new Uint8Array(file, at, packedBytes);
    at += packedBytes;
    if (header.type === "DICTIONARY_PAGE") {
      // A value takes at least four bytes, or is a single bit.
      if (!isCount(header.dictionary_page_header?.num_values, bytes * 8))
        throw new Error("a dictionary has more values than bytes");
    } else values += await checkData(header, packed, meta, facts, facts.rows - values);
  }
}

/** Returns how many values the page has. */
async function checkData(
  header: PageHeader,
  packed: Uint8Array,
  { codec, type }: ColumnMetaData,
  { isOptional, compressors }: ChunkFacts,
  left: number,
): Promise<number> {
  const { decompressPage } = await import("hyparquet/src/datapage.js");
  const { data_page_header: one, data_page_header_v2: two } = header;
  const bytes = header.uncompressed_page_size;
  if (header.type === "DATA_PAGE" && one !== undefined) {
    if (!isCount(one.num_values, left)) throw new Error("a page has more values than rows");
    const body = pageReader(decompressPage(packed, bytes, codec, compressors));
    let present = one.num_values;
    if (isOptional) {
      const levels = body.view.getUint32(0, true);
      body.offset = 4;
      present = checkLevels(body, one.num_values);
      body.offset = 4 + levels;
    }
    const isBoolean = type === "BOOLEAN";
    // The reader decodes a bit width of 0 as zeros, in pages of version 1 but not 2.
    await checkValues(body, one.encoding, { type, count: present, isBoolean, zeros: true });
    return one.num_values;
  }
  if (header.type !== "DATA_PAGE_V2" || two === undefined)
    throw new Error(`a page is of the kind ${header.type}`);
  const { num_values: count, num_nulls: nulls, definition_levels_byte_length: levels } = two;
  if (!isCount(count, left) || !isCount(nulls, count) || !isCount(two.num_rows, left))
    throw new Error("a page has more values than rows");
  if (
    two.repetition_levels_byte_length !== 0 ||
    !isCount(levels, packed.length) ||
    (!isOptional && levels > 0)
  )
    throw new Error("a page has levels that it cannot have");
  if (isOptional && count > 0) checkLevels(pageReader(packed.subarray(0, levels)), count);
  const body = packed.subarray(levels);
  const isPacked = two.is_compressed !== false;
  await checkValues(
    pageReader(isPacked ? decompressPage(body, bytes - levels, codec, compressors) : body),
    two.encoding,
    { type, count: count - nulls, isBoolean: two.encoding === "RLE", zeros: false },
  );
  return count;
}

interface Values {
  readonly type: ColumnMetaData["type"];
  readonly count: number;
  /** Boolean runs with a length prefix. */
  readonly isBoolean: boolean;
  readonly zeros: boolean;
}

async function checkValues(
  body: PageReader,
  encoding: string | undefined,
  { type, count, isBoolean, zeros }: Values,
): Promise<void> {
  switch (encoding) {
    case "PLAIN":
    case "BYTE_STREAM_SPLIT":
      if (encoding === "BYTE_STREAM_SPLIT" && type === "FIXED_LEN_BYTE_ARRAY")
        throw new Error("a page has texts split into bytes");
      if (count > (body.view.byteLength - body.offset) * 8)
        throw new Error("a page has more values than bytes");
      return;
    case "RLE":
    case "PLAIN_DICTIONARY":
    case "RLE_DICTIONARY": {
      if (count === 0) return;
      const width = isBoolean ? 1 : body.view.getUint8(body.offset++);
      if (isBoolean) body.offset += 4;
      if (width > 0 || !zeros) checkRuns(body, width, count, fill);
      return;
    }
    case "DELTA_BINARY_PACKED":
    case "DELTA_LENGTH_BYTE_ARRAY":
      return checkDelta(body);
    case "DELTA_BYTE_ARRAY":
      return checkShared(body, count);
    case undefined:
    default:
      throw new Error(`a page is encoded as ${encoding ?? "nothing known"}`);
  }
}

/** The format requires blocks of a multiple of 128 numbers in parts of a multiple of 32, so that each one advances the reader. */
function checkDelta({ view, offset }: PageReader): void {
  const reader = { view, offset };
  const [block, parts] = [varint(reader), varint(reader)];
  if (block === 0 || block % 128 !== 0 || parts === 0 || block % (parts * 32) !== 0)
    throw new Error("a page has differences in blocks that cannot be");
  if (block > 2 ** 24) throw new Error("a page has differences in blocks that are too large");
}

/** Texts that share a prefix with the previous one: no prefix may be longer than that text. */
async function checkShared(body: PageReader, count: number): Promise<void> {
  const { deltaBinaryUnpack } = await import("hyparquet/src/delta.js");
  const [begins, rest] = [new Int32Array(count), new Int32Array(count)];
  const reader = { ...body };
  for (const lengths of [begins, rest]) {
    checkDelta(reader);
    deltaBinaryUnpack(reader, count, lengths);
  }
  let [before, all] = [0, 0];
  begins.forEach((begin, at) => {
    if (begin < 0 || begin > before) throw new Error("a text begins with more than there is");
    before = begin + (rest[at] ?? 0);
    all += before;
    if (all > maxChunkBytes) throw new Error("a column unpacks to more than a gigabyte");
  });
}

/** Returns how many of the values are present. */
function checkLevels(reader: PageReader, count: number): number {
  const { view, offset } = reader;
  checkRuns(reader, 1, count, fill);
  return presentIn({ view, offset }, count);
}

function presentIn(reader: PageReader, count: number): number {
  let present = 0;
  for (let seen = 0; seen < count;) {
    const head = varint(reader);
    if ((head & 1) === 0) {
      if ((reader.view.getUint8(reader.offset++) & 1) === 1) present += head >>> 1;
      seen += head >>> 1;
      continue;
    }
    for (let left = (head >>> 1) * 8; left > 0; left -= 8) {
      const byte = reader.view.getUint8(reader.offset++);
      for (let bit = 0; bit < 8 && seen < count; bit++, seen++) present += (byte >>> bit) & 1;
    }
  }
  return present;
}
