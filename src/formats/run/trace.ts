/**
 * The readings of a run as Parquet, in the lake's wide GPU table, so that any tool that reads the lake can read a run. Absent
 * readings are null.
 */
import type { FileMetaData } from "hyparquet";
import { GpulseError, formatError } from "../../base/error.ts";
import type { Device } from "../../model/device.ts";
import { checkTrace, type TraceLimits, traceLimits } from "./trace-bounds.ts";

/** The readings of one GPU. Rows have their own times: slow readings are in rows of their own instants. */
export interface GpuTrace {
  readonly timeMs: Float64Array;
  /** Keyed by the lake's column names; NaN if a row has no reading. Every column is as long as `timeMs`. */
  readonly columns: ReadonlyMap<string, Float64Array>;
}

/** Keyed by uuid. Includes the baselines: the run's start and end delimit the run itself. */
export type RunTrace = ReadonlyMap<string, GpuTrace>;

export interface TracedDevice extends Device {
  readonly host: string;
}

const identity = new Set(["time", "host", "uuid", "gpu", "vendor", "model", "simulated", "tags"]);

/** Many times the GPUs of the largest machines together. */
const maxGpus = 4_096;

/** Rows sorted by GPU, then by time. Fractions of a millisecond are dropped: `time` is in whole milliseconds. */
export async function writeTrace(
  trace: RunTrace,
  devices: readonly TracedDevice[],
): Promise<Uint8Array> {
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  const known = devices.filter(({ uuid }) => trace.has(uuid));
  const names = [
    ...new Set(known.flatMap(({ uuid }) => [...(trace.get(uuid)?.columns.keys() ?? [])])),
  ];
  const each = <T>(value: (device: TracedDevice) => T): T[] =>
    known.flatMap((device) =>
      Array.from({ length: trace.get(device.uuid)?.timeMs.length ?? 0 }, () => value(device)),
    );
  const times = known.flatMap(({ uuid }) =>
    Array.from(trace.get(uuid)?.timeMs ?? [], (ms) => new Date(ms)),
  );
  const values = (name: string): (number | null)[] =>
    known.flatMap(({ uuid }) => {
      const gpu = trace.get(uuid);
      const column = gpu?.columns.get(name);
      return Array.from(gpu?.timeMs ?? [], (_, row) => {
        const value = column?.[row] ?? Number.NaN;
        return Number.isNaN(value) ? null : value;
      });
    });
  const buffer = parquetWriteBuffer({
    columnData: [
      { name: "time", data: times, type: "TIMESTAMP", nullable: false },
      { name: "host", data: each(({ host }) => host), type: "STRING", nullable: false },
      { name: "uuid", data: each(({ uuid }) => uuid), type: "STRING", nullable: false },
      { name: "gpu", data: each(({ index }) => index), type: "INT32", nullable: false },
      { name: "vendor", data: each(({ vendor }) => vendor), type: "STRING", nullable: false },
      { name: "model", data: each(({ model }) => model), type: "STRING", nullable: false },
      {
        name: "simulated",
        data: each(({ simulated }) => simulated),
        type: "BOOLEAN",
        nullable: false,
      },
      { name: "tags", data: each(() => null), type: "STRING" },
      ...names.map((name) => ({ name, data: values(name), type: "DOUBLE" as const })),
    ],
    rowGroupSize: 100_000,
  });
  return new Uint8Array(buffer);
}

/** @throws GpulseError RUN_FILE if the bytes are not such a table, or claim a size beyond the limits. */
export async function readTrace(
  bytes: Uint8Array,
  shown: string,
  limits: TraceLimits = traceLimits,
): Promise<RunTrace> {
  const file = bytes.buffer.slice(
    bytes.byteOffset,
    bytes.byteOffset + bytes.byteLength,
  ) as ArrayBuffer;
  let table: Table;
  try {
    table = await readTable(file, await checkTrace(file, limits));
  } catch (thrown) {
    throw new GpulseError(
      "RUN_FILE",
      `The trace of ${shown} is not readable Parquet (${formatError(thrown)}).`,
      { cause: thrown },
    );
  }
  const rowsOf = new Map<string, number[]>();
  table.uuids.forEach((uuid, row) => {
    const own = rowsOf.get(uuid);
    if (own !== undefined) own.push(row);
    else if (rowsOf.size < maxGpus) rowsOf.set(uuid, [row]);
    else throw new GpulseError("RUN_FILE", `The trace of ${shown} has more than ${maxGpus} GPUs.`);
  });
  if (rowsOf.has("") || table.timeMs.some(Number.isNaN))
    throw new GpulseError("RUN_FILE", `The trace of ${shown} has a row without uuid or time.`);
  return new Map([...rowsOf].map(([uuid, rows]) => [uuid, gpuTrace(table, rows)]));
}

interface Table {
  readonly timeMs: Float64Array;
  /** Empty for a row without a uuid. */
  readonly uuids: readonly string[];
  readonly columns: ReadonlyMap<string, Float64Array>;
}

/** Reads group by group, so that the decoded data of one group is freed before the next. */
async function readTable(file: ArrayBuffer, metadata: FileMetaData): Promise<Table> {
  const { parquetRead } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const count = metadata.row_groups.reduce((sum, { num_rows }) => sum + Number(num_rows), 0);
  const numbers = (): Float64Array => new Float64Array(count).fill(Number.NaN);
  const uuids = Array<string>(count).fill("");
  const columns = new Map([["time", numbers()]]);
  for (const { name } of metadata.schema.slice(1))
    if (!identity.has(name)) columns.set(name, numbers());
  const wanted = new Set(["uuid", ...columns.keys()]);
  let rowStart = 0;
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows);
    await parquetRead({
      file,
      metadata,
      compressors,
      rowStart,
      rowEnd,
      columns: metadata.schema.map(({ name }) => name).filter((name) => wanted.has(name)),
      parsers: {
        timestampFromMilliseconds: Number,
        timestampFromMicroseconds: (us) => Number(us) / 1_000,
        timestampFromNanoseconds: (ns) => Number(ns / 1_000n) / 1_000,
      },
      onChunk: ({ columnName, columnData, rowStart: from }) => {
        const into = columns.get(columnName);
        for (let at = 0; at < columnData.length && from + at < rowEnd; at++) {
          const value: unknown = columnData[at];
          if (columnName === "uuid") uuids[from + at] = typeof value === "string" ? value : "";
          else if (into !== undefined && typeof value === "number") into[from + at] = value;
        }
      },
    });
    rowStart = rowEnd;
  }
  return { timeMs: columns.get("time") ?? numbers(), uuids, columns };
}

function gpuTrace(table: Table, rows: readonly number[]): GpuTrace {
  const own = (values: Float64Array): Float64Array =>
    Float64Array.from(rows, (row) => values[row] ?? Number.NaN);
  const columns = new Map<string, Float64Array>();
  for (const [name, values] of table.columns) {
    if (name === "time") continue;
    const column = own(values);
    // Skips columns that only other GPUs of the file have.
    if (column.some((value) => !Number.isNaN(value))) columns.set(name, column);
  }
  return { timeMs: own(table.timeMs), columns };
}
