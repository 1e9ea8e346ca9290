/** Decodes a Parquet file of the lake, or one with the same columns from another tool, to rows. Unknown columns are ignored. */
import { gunzipSync } from "node:zlib";
import type {
  AsyncBuffer,
  ColumnMetaData,
  Compressors,
  DecodedArray,
  FileMetaData,
  parquetRead as ParquetRead,
} from "hyparquet";
import { GpulseError } from "../base/error.ts";
import type { FileStore } from "../net/objects/store.ts";
import { checkChunk, type ChunkFacts, maxGroupRows } from "./page-bounds.ts";
import { tables } from "./schema.ts";
import type { NumberColumn, Rows, TableName, TextColumn } from "./table.ts";

export interface ParquetFile {
  readonly table: TableName;
  readonly rowCount: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** Reads a range of rows. */
  rows(from: number, to: number): Promise<Rows>;
  /** The row ranges of the row groups: reading by them reads nothing twice. */
  readonly groups: readonly (readonly [from: number, to: number])[];
}

/** Reads only the footer. Throws if the bytes are not a Parquet file of a lake table. */
export async function openFile(
  files: FileStore,
  path: string,
  bytes: number,
  signal?: AbortSignal,
): Promise<ParquetFile> {
  return openBuffer(
    {
      byteLength: bytes,
      slice: async (start, end = bytes) => {
        const part = await files.read(path, { start, end }, signal);
        return part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength) as ArrayBuffer;
      },
    },
    path,
  );
}

export function openBytes(bytes: Uint8Array, name: string): Promise<ParquetFile> {
  const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  return openBuffer(
    {
      byteLength: bytes.byteLength,
      slice: (start, end) => (whole as ArrayBuffer).slice(start, end),
    },
    name,
  );
}

async function openBuffer(file: AsyncBuffer, name: string): Promise<ParquetFile> {
  const { parquetMetadataAsync, parquetRead } = await import("hyparquet");
  const metadata = await parquetMetadataAsync(file).catch((thrown: unknown) => {
    throw new LakeFileError(`${name} is not a Parquet file, or is damaged.`, { cause: thrown });
  });
  const damaged = (thrown: unknown): never => {
    // An unreachable store or an aborted read does not mean a damaged file.
    if (thrown instanceof LakeFileError || thrown instanceof GpulseError) throw thrown;
    if (thrown instanceof Error && thrown.name === "AbortError") throw thrown;
    throw new LakeFileError(`${name} is a damaged Parquet file.`, { cause: thrown });
  };
  try {
    return understood(file, name, metadata, parquetRead, damaged);
  } catch (thrown) {
    return damaged(thrown);
  }
}

function understood(
  file: AsyncBuffer,
  name: string,
  metadata: FileMetaData,
  parquetRead: typeof ParquetRead,
  damaged: (thrown: unknown) => never,
): ParquetFile {
  const has = new Set(metadata.schema.slice(1).map((element) => element.name));
  const table: TableName | undefined =
    has.has("time") && has.has("uuid") && !has.has("value")
      ? "gpu"
      : has.has("time") && has.has("name") && has.has("value")
        ? "series"
        : has.has("time") && has.has("job") && has.has("joules")
          ? "jobs"
          : undefined;
  if (table === undefined)
    throw new LakeFileError(
      `${name} has neither the columns of a GPU table (time, uuid, …) nor of a series table (time, name, labels, value).`,
    );
  const flat = flatColumns(metadata);
  const names = tables[table].map((column) => column.name).filter((column) => flat.has(column));
  const filled = withValues(metadata, names);
  for (const { num_rows } of metadata.row_groups)
    if (!(Number(num_rows) >= 0 && Number(num_rows) <= maxGroupRows))
      throw new LakeFileError(`${name} has a group of more than ${maxGroupRows} rows.`);
  return {
    table,
    rowCount: Number(metadata.num_rows),
    metadata: Object.fromEntries(
      (metadata.key_value_metadata ?? []).map(({ key, value }) => [key, value ?? ""]),
    ),
    groups: groupsOf(metadata),
    rows: async (from, to) => {
      const parts = new Map<string, unknown[]>();
      const { compressors: known } = await import("hyparquet-compressors");
      const compressors: Compressors = {
        ...known,
        GZIP: (input, outputLength) => gunzipSync(input, { maxOutputLength: outputLength + 1 }),
      };
      const chunks = chunksOf(metadata, filled, flat, compressors);
      await parquetRead({
        file: { ...file, slice: (start, end) => checked(file, start, end, chunks) },
        metadata,
        columns: filled,
        rowStart: from,
        rowEnd: to,
        compressors,
        parsers: {
          timestampFromMilliseconds: Number,
          timestampFromMicroseconds: (us) => Number(us) / 1_000,
          timestampFromNanoseconds: (ns) => Number(ns / 1_000n) / 1_000,
        },
        onChunk: ({ columnName, columnData, rowStart, rowEnd }) => {
          let into = parts.get(columnName);
          if (into === undefined) parts.set(columnName, (into = []));
          place(into, columnData, rowStart, rowEnd, from, to);
        },
      }).catch(damaged);
      return toRows(table, parts, to - from);
    },
  };
}

export class LakeFileError extends Error {}

/** The top-level columns and whether they are nullable; nested and repeated columns are ignored. */
function flatColumns({ schema }: FileMetaData): ReadonlyMap<string, boolean> {
  const flat = new Map<string, boolean>();
  for (let at = 1; at < schema.length; at++) {
    const { name, num_children: children = 0, repetition_type: kind } = schema[at] ?? {};
    if (name === undefined) continue;
    if (children > 0) at += descendants(schema, at);
    else if (kind !== "REPEATED") flat.set(name, kind !== "REQUIRED");
  }
  return flat;
}

/** The number of schema elements below this one. */
function descendants(schema: FileMetaData["schema"], at: number): number {
  let [left, next] = [schema[at]?.num_children ?? 0, at + 1];
  for (; left > 0 && next < schema.length; next++) left += (schema[next]?.num_children ?? 0) - 1;
  return next - at - 1;
}

interface Chunk {
  readonly start: number;
  readonly end: number;
  readonly meta: ColumnMetaData;
  readonly facts: ChunkFacts;
}

function chunksOf(
  { row_groups }: FileMetaData,
  names: readonly string[],
  flat: ReadonlyMap<string, boolean>,
  compressors: Compressors,
): readonly Chunk[] {
  const wanted = new Set(names);
  return row_groups.flatMap(({ num_rows, columns }) =>
    columns.flatMap(({ meta_data: meta }) => {
      const [name = ""] = meta?.path_in_schema ?? [];
      if (meta === undefined || !wanted.has(name)) return [];
      if (meta.path_in_schema.length > 1)
        throw new LakeFileError(`The column ${name} has others in it though its schema has none.`);
      // The same rule as in the reader.
      const start = Number(meta.dictionary_page_offset || meta.data_page_offset);
      const end = start + Number(meta.total_compressed_size);
      const isOptional = flat.get(name) ?? true;
      return { start, end, meta, facts: { rows: Number(num_rows), isOptional, compressors } };
    }),
  );
}

/** Bytes of the file, after checking the pages of every column in them. Columns are read whole. */
async function checked(
  file: AsyncBuffer,
  start: number,
  end: number | undefined,
  chunks: readonly Chunk[],
): Promise<ArrayBuffer> {
  const part = await file.slice(start, end);
  const stop = start + part.byteLength;
  for (const chunk of chunks) {
    if (chunk.end <= start || chunk.start >= stop) continue;
    if (chunk.start < start) throw new LakeFileError("Two columns of the file overlap.");
    await checkChunk(part, chunk.start - start, chunk.meta, chunk.facts);
  }
  return part;
}

/** Columns that are null in the whole file are not read: most columns of a wide table are. */
function withValues(metadata: FileMetaData, names: readonly string[]): string[] {
  const empty = new Set(names);
  for (const { columns, num_rows } of metadata.row_groups)
    for (const { meta_data } of columns) {
      const nulls = meta_data?.statistics?.null_count;
      if (nulls === undefined || nulls < num_rows) empty.delete(meta_data?.path_in_schema[0] ?? "");
    }
  return names.filter((name) => name === "time" || !empty.has(name));
}

function groupsOf({ row_groups }: FileMetaData): readonly (readonly [number, number])[] {
  let start = 0;
  return row_groups.map(({ num_rows }) => {
    const from = start;
    start += Number(num_rows);
    return [from, start] as const;
  });
}

function place(
  into: unknown[],
  data: DecodedArray,
  rowStart: number,
  rowEnd: number,
  from: number,
  to: number,
): void {
  for (let row = Math.max(rowStart, from); row < Math.min(rowEnd, to); row++)
    into[row - from] = data[row - rowStart];
}

function toRows(table: TableName, parts: ReadonlyMap<string, unknown[]>, count: number): Rows {
  const texts: TextColumn[] = [];
  const numbers: NumberColumn[] = [];
  let times = new Float64Array(count);
  for (const { name, kind } of tables[table]) {
    const part = parts.get(name);
    if (part === undefined) continue;
    if (kind === "time") times = Float64Array.from(part, timeOf);
    else if (kind === "text") texts.push(textColumn(name, part));
    else numbers.push(numberColumn(name, part));
  }
  return { table, count, times, texts, numbers };
}

function timeOf(value: unknown): number {
  if (value instanceof Date) return value.getTime();
  return Number(value);
}

function textColumn(name: string, part: readonly unknown[]): TextColumn {
  const places = new Map<string, number>();
  const index = Int32Array.from(part, (value) => {
    if (typeof value !== "string") return -1;
    const known = places.get(value);
    if (known !== undefined) return known;
    places.set(value, places.size);
    return places.size - 1;
  });
  return { name, dictionary: [...places.keys()], index };
}

function numberColumn(name: string, part: readonly unknown[]): NumberColumn {
  const [values, present] = [new Float64Array(part.length), new Uint8Array(part.length)];
  part.forEach((value, row) => {
    if (value === null || value === undefined) return;
    values[row] = Number(value);
    present[row] = 1;
  });
  return { name, values, present };
}
