/**
 * Encodes rows to a Parquet file that DuckDB, Spark and pandas can read. Encodings are chosen per column; they matter more than
 * the codec. A null is never written as a value.
 */
import { constants, gzipSync } from "node:zlib";
import type { ColumnChunk, Encoding, SchemaElement } from "hyparquet";
import type { ColumnSource } from "hyparquet-writer";
import type { LakeFormat } from "./commit.ts";
import { metadataKeys, schemaVersion, tables } from "./schema.ts";
import type { ColumnKind, ColumnSpec, Rows } from "./table.ts";

/** DuckDB's own size: each of its threads processes one row group. */
export const rowGroupRows = 122_880;

export interface FileFacts {
  readonly version: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The table's columns; by default those of this version. Only tests of older versions set it. */
  readonly columns?: readonly ColumnSpec[];
  readonly format?: LakeFormat;
}

/** Encodes sorted rows to the bytes of a file. */
export async function encodeRows(rows: Rows, facts: FileFacts): Promise<Uint8Array> {
  const { ByteWriter, ParquetWriter } = await import("hyparquet-writer");
  const specs = facts.columns ?? tables[rows.table];
  const writer = new ByteWriter();
  const metadata = {
    [metadataKeys.schema]: String(schemaVersion),
    [metadataKeys.version]: facts.version,
    [metadataKeys.table]: rows.table,
    ...facts.metadata,
  };
  const parquet = new ParquetWriter({
    ...compression,
    writer,
    schema: [
      { name: "gpulse", num_children: specs.length },
      ...specs.map((spec) => elementOf(spec, facts.format)),
    ],
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  });
  const filled = specs.filter(({ name, kind }) => isFilled(name, kind, rows));
  await parquet.write({
    columnData: filled.map((spec) => columnData(spec, rows, facts.format)),
    rowGroupSize: rowGroupRows,
    // No limit, one page per row group: pages of a megabyte would each restart the delta encoding.
    pageSize: 0,
  });
  for (const group of parquet.row_groups) {
    const empty = await emptyChunk(Number(group.num_rows));
    const chunks = new Map(group.columns.map((chunk, at) => [filled[at]?.name, chunk]));
    group.columns = specs.map((spec) => {
      const chunk = chunks.get(spec.name);
      if (chunk !== undefined) return chunk;
      const start = BigInt(writer.offset);
      writer.appendBytes(empty.bytes);
      group.total_byte_size += BigInt(empty.bytes.length);
      return empty.chunkOf(spec, start);
    });
  }
  await parquet.finish();
  return withColumnOrders(writer.getBytes(), specs.length);
}

/** After the metadata: its length in four bytes, and `PAR1`. */
const tailBytes = 8;

/**
 * Adds `column_orders`, field 7 of the footer's Thrift struct, which hyparquet-writer omits: without it pyarrow and parquet-java
 * ignore the minimum and maximum of text columns, and pyarrow those of all columns. One `TypeDefinedOrder` per column, in
 * Thrift's compact form:
 * `19` (field 7 after field 6, a list), its size and element type, `1c 00 00` each, and the struct's end.
 */
function withColumnOrders(file: Uint8Array, columns: number): Uint8Array {
  const metadataEnd = file.length - tailBytes;
  if (file[metadataEnd - 1] !== 0) throw new Error("BUG: a Parquet footer does not end its struct");
  const struct = 12;
  const size = columns < 15 ? [(columns << 4) | struct] : [0xf0 | struct, ...varint(columns)];
  const orders = Array.from({ length: columns }, () => [0x1c, 0x00, 0x00]).flat();
  const added = Buffer.from([0x19, ...size, ...orders, 0x00]);
  const tail = Buffer.from(file.subarray(metadataEnd));
  tail.writeUInt32LE(tail.readUInt32LE(0) - 1 + added.length, 0);
  // In memory of its own, not Buffer's pool: a worker transfers it.
  const whole = new Uint8Array(metadataEnd - 1 + added.length + tail.length);
  whole.set(file.subarray(0, metadataEnd - 1));
  whole.set(added, metadataEnd - 1);
  whole.set(tail, metadataEnd - 1 + added.length);
  return whole;
}

function varint(value: number): number[] {
  return value > 0x7f ? [(value & 0x7f) | 0x80, ...varint(value >>> 7)] : [value];
}

const compression = {
  codec: "GZIP",
  compressors: {
    GZIP: (bytes: Uint8Array) => gzipSync(bytes, { level: constants.Z_BEST_SPEED }),
  },
} as const;

/**
 * A column of nulls has the same bytes whatever its name, so it is encoded once: a GPU fills forty of two hundred columns, and
 * the library takes as long for an empty column as for a filled one.
 */
async function emptyChunk(rowCount: number): Promise<{
  readonly bytes: Uint8Array;
  chunkOf(spec: ColumnSpec, start: bigint): ColumnChunk;
}> {
  const { ByteWriter, ParquetWriter } = await import("hyparquet-writer");
  const writer = new ByteWriter();
  const spec: ColumnSpec = { name: "empty", kind: "number" };
  const parquet = new ParquetWriter({
    codec: "UNCOMPRESSED",
    writer,
    schema: [{ name: "gpulse", num_children: 1 }, elementOf(spec)],
  });
  const before = writer.offset;
  await parquet.write({
    columnData: [{ name: spec.name, data: Array.from({ length: rowCount }, () => null) }],
    rowGroupSize: rowCount,
    pageSize: 64 * 2 ** 20,
  });
  const made = parquet.row_groups[0]?.columns[0];
  const { meta_data } = made ?? {};
  if (made === undefined || meta_data === undefined)
    throw new Error("BUG: an empty column was not written");
  const shift = meta_data.data_page_offset - BigInt(before);
  return {
    bytes: writer.getBytes().slice(before),
    chunkOf: ({ name, kind }, start) => ({
      ...made,
      file_offset: start,
      meta_data: {
        ...meta_data,
        type: physical[kind].type ?? "DOUBLE",
        path_in_schema: [name],
        data_page_offset: start + shift,
      },
    }),
  };
}

function isFilled(name: string, kind: ColumnKind, rows: Rows): boolean {
  if (kind === "time") return true;
  return kind === "text"
    ? rows.texts.some((column) => column.name === name)
    : rows.numbers.some((column) => column.name === name);
}

const physical: Readonly<Record<ColumnKind, Omit<SchemaElement, "name">>> = {
  // Instants in UTC. Without the logical type DuckDB reads it as a plain timestamp, whose days do not follow a session's zone.
  time: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  number: { type: "DOUBLE" },
  integer: { type: "INT32" },
  boolean: { type: "BOOLEAN" },
};

/** Iceberg's timestamps are microseconds; its Spark reader accepts no others. */
const icebergTime: Omit<SchemaElement, "name"> = {
  type: "INT64",
  converted_type: "TIMESTAMP_MICROS",
  logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
};

const elementOf = (
  { name, kind, required }: ColumnSpec,
  format: LakeFormat = "parquet",
): SchemaElement => ({
  name,
  repetition_type: required === true ? "REQUIRED" : "OPTIONAL",
  ...(kind === "time" && format === "iceberg" ? icebergTime : physical[kind]),
});

function columnData(
  { name, kind }: ColumnSpec,
  rows: Rows,
  format: LakeFormat = "parquet",
): ColumnSource {
  switch (kind) {
    case "time":
      // Only the newest versions of Iceberg's vectorized Spark reader support deltas.
      if (format === "iceberg")
        return {
          name,
          data: Array.from(rows.times, (timeMs) => BigInt(Math.round(timeMs)) * 1_000n),
          encoding: "PLAIN",
        };
      return {
        name,
        data: Array.from(rows.times, (timeMs) => BigInt(Math.round(timeMs))),
        encoding: "DELTA_BINARY_PACKED",
      };
    case "text":
      return { name, data: textsOf(name, rows), ...dictionary };
    case "number":
    case "integer":
    case "boolean": {
      const column = rows.numbers.find((one) => one.name === name);
      if (column === undefined) throw new Error(`BUG: column ${name} is not there`);
      const { values, present } = column;
      if (!present.includes(0) && kind === "number")
        return { name, data: values, ...encodingOf(values, present) };
      const data: (number | boolean | null)[] = [];
      for (let row = 0; row < rows.count; row++)
        data[row] =
          present[row] === 0
            ? null
            : kind === "boolean"
              ? values[row] !== 0
              : (values[row] as number);
      if (kind === "boolean") return { name, data };
      return { name, data, ...(kind === "integer" ? dictionary : encodingOf(values, present)) };
    }
  }
}

const dictionary: { readonly encoding: Encoding } = { encoding: "RLE_DICTIONARY" };

/**
 * A coarse sensor has few distinct values, for which a dictionary pays off; a fine one has many. For those, PLAIN with gzip is
 * smaller than BYTE_STREAM_SPLIT (0.78 against 1.19 B a value on a simulated hour), since readings repeat.
 */
function encodingOf(values: Float64Array, present: Uint8Array): { readonly encoding: Encoding } {
  const seen = new Set<number>();
  let count = 0;
  for (let row = 0; row < values.length; row++) {
    if (present[row] === 0) continue;
    count++;
    seen.add(values[row] as number);
    if (seen.size > 4_096 && seen.size * 4 > count) return { encoding: "PLAIN" };
  }
  return seen.size * 4 > count && count > 16 ? { encoding: "PLAIN" } : dictionary;
}

function textsOf(name: string, rows: Rows): (string | null)[] {
  const column = rows.texts.find((one) => one.name === name);
  if (column === undefined) throw new Error(`BUG: column ${name} is not there`);
  const { index, dictionary: texts } = column;
  const data: (string | null)[] = [];
  for (let row = 0; row < index.length; row++) data[row] = texts[index[row] as number] ?? null;
  return data;
}
