/**
 * Checks a trace before it is read: a page of fifty bytes can claim two thousand million readings, and the Parquet reader would
 * believe it. Only the output of our own writer is accepted. Reads one page at a time into memory.
 */
import type { ColumnMetaData, FileMetaData } from "hyparquet";
import { checkRuns, isCount, pageReader } from "../parquet/runs.ts";

export interface TraceLimits {
  /** Rows times columns. */
  readonly cells: number;
  /** Total of all pages, unpacked. */
  readonly bytes: number;
}

export const traceLimits: TraceLimits = { cells: 400_000_000, bytes: 1024 * 1024 * 1024 };

const maxFooterBytes = 2 * 1024 * 1024;
/** Ten times the rows that our writer puts into a group; a group is decoded at once. */
const maxGroupRows = 1_000_000;
const maxPageHeaderBytes = 16 * 1024;
/** Our writer pads the last packed group of eight. */
const fill = 7;
/** A length and "PAR1". */
const tailBytes = 8;

/** @throws Error with the first deviation from our writer's output. */
export async function checkTrace(
  file: ArrayBuffer,
  limits: TraceLimits = traceLimits,
): Promise<FileMetaData> {
  const { parquetMetadata } = await import("hyparquet");
  if (file.byteLength < tailBytes) throw new Error("it is too short");
  const footerBytes = new DataView(file).getUint32(file.byteLength - tailBytes, true);
  if (footerBytes > maxFooterBytes) throw new Error("its footer is too long");
  const metadata = parquetMetadata(file);
  const [, ...columns] = metadata.schema;
  if (columns.some((one) => one.num_children !== undefined || one.repetition_type === "REPEATED"))
    throw new Error("it has columns within columns");
  const optional = new Map(
    columns.map((one) => [one.name, one.repetition_type === "OPTIONAL"] as const),
  );
  let [cells, left] = [0, limits.bytes];
  for (const { num_rows, columns: chunks } of metadata.row_groups) {
    const rows = Number(num_rows);
    cells += rows * Math.max(chunks.length, columns.length);
    if (!isCount(rows, maxGroupRows)) throw new Error("it has a group of too many rows");
    if (cells > limits.cells) throw new Error(`it has more than ${limits.cells} readings`);
    for (const { meta_data } of chunks) {
      const name = meta_data?.path_in_schema.join(".") ?? "";
      const isOptional = optional.get(name);
      if (meta_data === undefined || isOptional === undefined)
        throw new Error("it has a column that is not in its schema");
      left -= await checkChunk(file, meta_data, { rows, isOptional, left });
    }
  }
  return metadata;
}

interface Chunk {
  readonly rows: number;
  readonly isOptional: boolean;
  /** Remaining limit of unpacked bytes for its pages. */
  readonly left: number;
}

async function checkChunk(
  file: ArrayBuffer,
  { codec, dictionary_page_offset, data_page_offset, total_compressed_size }: ColumnMetaData,
  { rows, isOptional, left }: Chunk,
): Promise<number> {
  if (codec !== "SNAPPY" && codec !== "UNCOMPRESSED") throw new Error(`it is packed with ${codec}`);
  const { parquetHeader } = await import("hyparquet/src/column.js");
  const start = Number(dictionary_page_offset || data_page_offset);
  const end = start + Number(total_compressed_size);
  if (!(start >= 0) || !(end <= file.byteLength) || !(start <= end))
    throw new Error("it has a column beyond its end");
  let [at, unpacked, values] = [start, 0, 0];
  while (at < end - 1) {
    const reader = {
      view: new DataView(file, at, Math.min(maxPageHeaderBytes, end - at)),
      offset: 0,
    };
    const header = parquetHeader(reader);
    at += reader.offset;
    const packedBytes = header.compressed_page_size;
    unpacked += header.uncompressed_page_size;
    if (!(packedBytes >= 0) || at + packedBytes > end) throw new Error("it has a page too long");
    if (!(header.uncompressed_page_size >= 0) || unpacked > left)
      throw new Error("it unpacks to more than it may");
    const packed = new Uint8Array(file, at, packedBytes);
    at += packedBytes;
    if (header.dictionary_page_header !== undefined && header.type === "DICTIONARY_PAGE") {
      if (!isCount(header.dictionary_page_header.num_values, rows))
        throw new Error("it has a dictionary with more values than rows");
      continue;
    }
    const page = header.data_page_header_v2;
    if (page === undefined || header.type !== "DATA_PAGE_V2")
      throw new Error(`it has a page of the kind ${header.type}`);
    const { num_values: count, num_nulls: nulls } = page;
    if (!isCount(count, rows - values) || !isCount(nulls, count))
      throw new Error("it has more values than rows");
    values += count;
    const levels = page.definition_levels_byte_length;
    if (page.repetition_levels_byte_length !== 0 || !isCount(levels, packedBytes))
      throw new Error("it has levels that it should not have");
    if (isOptional) checkRuns(pageReader(packed.subarray(0, levels)), 1, count, fill);
    if (page.encoding === "PLAIN") continue;
    if (page.encoding !== "RLE" && page.encoding !== "RLE_DICTIONARY")
      throw new Error(`it is encoded as ${page.encoding}`);
    const body = pageReader(
      await unpackPage(
        packed.subarray(levels),
        header.uncompressed_page_size - levels,
        page.is_compressed === false ? "UNCOMPRESSED" : codec,
      ),
    );
    const width = page.encoding === "RLE" ? 1 : body.view.getUint8(body.offset++);
    if (page.encoding === "RLE") body.offset += 4;
    checkRuns(body, width, count - nulls, fill);
  }
  return unpacked;
}

async function unpackPage(
  packed: Uint8Array,
  bytes: number,
  codec: "SNAPPY" | "UNCOMPRESSED",
): Promise<Uint8Array> {
  const { decompressPage } = await import("hyparquet/src/datapage.js");
  const { compressors } = await import("hyparquet-compressors");
  return decompressPage(packed, bytes, codec, compressors);
}
