/**
 * Rows to a Parquet file that every reader takes: DuckDB, Spark, pandas. Encodings are chosen by column; they matter more
 * than the codec. Never writes a value where there was none.
 */
import { constants, gzipSync } from "node:zlib";
import type { Encoding, SchemaElement } from "hyparquet";
import type { ColumnSource } from "hyparquet-writer";
import { metadataKeys, schemaVersion, tables } from "./schema.ts";
import type { ColumnKind, ColumnSpec, Rows } from "./table.ts";

/** DuckDB's own size: one row group is what one of its threads takes. */
export const rowGroupRows = 122_880;

export interface FileFacts {
  readonly version: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The table's columns; those of this version where not given, which only a test of an older one does. */
  readonly columns?: readonly ColumnSpec[];
}

/** Sorted rows to the bytes of a file. */
export async function encodeRows(rows: Rows, facts: FileFacts): Promise<Uint8Array> {
  const { ByteWriter, parquetWrite } = await import("hyparquet-writer");
  const specs = facts.columns ?? tables[rows.table];
  const writer = new ByteWriter();
  const metadata = {
    [metadataKeys.schema]: String(schemaVersion),
    [metadataKeys.version]: facts.version,
    [metadataKeys.table]: rows.table,
    ...facts.metadata,
  };
  await parquetWrite({
    writer,
    schema: [{ name: "gpulse", num_children: specs.length }, ...specs.map(elementOf)],
    columnData: specs.map((spec) => columnData(spec, rows)),
    codec: "GZIP",
    compressors: { GZIP: (bytes) => gzipSync(bytes, { level: constants.Z_BEST_SPEED }) },
    rowGroupSize: rowGroupRows,
    // One page a row group: pages of a megabyte would each begin their deltas again.
    pageSize: 64 * 2 ** 20,
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
  });
  return writer.getBytes();
}

const physical: Readonly<Record<ColumnKind, Omit<SchemaElement, "name">>> = {
  // Instants in UTC. Without the logical type DuckDB takes it as a plain timestamp, whose days do not follow a session's zone.
  time: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  number: { type: "DOUBLE" },
  integer: { type: "INT32" },
  boolean: { type: "BOOLEAN" },
};

const elementOf = ({ name, kind, required }: ColumnSpec): SchemaElement => ({
  name,
  repetition_type: required === true ? "REQUIRED" : "OPTIONAL",
  ...physical[kind],
});

function columnData({ name, kind, required }: ColumnSpec, rows: Rows): ColumnSource {
  switch (kind) {
    case "time":
      return {
        name,
        data: Array.from(rows.times, (timeMs) => BigInt(Math.round(timeMs))),
        encoding: "DELTA_BINARY_PACKED",
      };
    case "text":
      return { name, data: textsOf(name, rows), ...dictionary };
    default: {
      const column = rows.numbers.find((one) => one.name === name);
      if (column === undefined) {
        if (required === true) throw new Error(`BUG: column ${name} is required and not there`);
        return { name, data: new Array<null>(rows.count).fill(null) };
      }
      const { values, present } = column;
      if (!present.includes(0) && kind === "number")
        return { name, data: values, ...encodingOf(values, present) };
      const data = new Array<number | boolean | null>(rows.count);
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

/** Readings have few values where the sensor is coarse, and many where it is fine: a list of them pays in the first case. */
function encodingOf(values: Float64Array, present: Uint8Array): { readonly encoding: Encoding } {
  const seen = new Set<number>();
  let count = 0;
  for (let row = 0; row < values.length; row++) {
    if (present[row] === 0) continue;
    count++;
    seen.add(values[row] as number);
    if (seen.size > 4_096 && seen.size * 4 > count) return { encoding: "BYTE_STREAM_SPLIT" };
  }
  return seen.size * 4 > count && count > 16 ? { encoding: "BYTE_STREAM_SPLIT" } : dictionary;
}

function textsOf(name: string, rows: Rows): (string | null)[] {
  const column = rows.texts.find((one) => one.name === name);
  if (column === undefined) return new Array<null>(rows.count).fill(null);
  return Array.from(column.index, (place) =>
    place < 0 ? null : (column.dictionary[place] ?? null),
  );
}
