/** The readings of a run as Parquet: the lake's wide GPU table, so that any tool that reads the lake reads a run. Absent is null. */
import { GpulseError, sayError } from "../../errors/error.ts";
import type { Device } from "../../model/device.ts";

/** The readings of one GPU. Rows have their own times: slow readings stand in rows of their own instants. */
export interface GpuTrace {
  readonly timeMs: Float64Array;
  /** By the lake's column names; NaN where a row has no reading. Every column is as long as `timeMs`. */
  readonly columns: ReadonlyMap<string, Float64Array>;
}

/** By uuid. Spans the baselines too: the run's start and end cut it out. */
export type RunTrace = ReadonlyMap<string, GpuTrace>;

export interface TracedDevice extends Device {
  readonly host: string;
}

const identity = new Set(["time", "host", "uuid", "gpu", "vendor", "model", "simulated", "tags"]);

/** Rows by GPU, then by time. Millionths of a millisecond are not kept: `time` is whole milliseconds. */
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

/** @throws GpulseError RUN_FILE where it is no such table. */
export async function readTrace(bytes: Uint8Array, shown: string): Promise<RunTrace> {
  const { parquetReadObjects } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  let rows: readonly Record<string, unknown>[];
  try {
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    rows = await parquetReadObjects({ file: file as ArrayBuffer, compressors });
  } catch (thrown) {
    throw new GpulseError(
      "RUN_FILE",
      `The trace of ${shown} is no Parquet that can be read (${sayError(thrown)}).`,
      { cause: thrown },
    );
  }
  const byGpu = new Map<string, Record<string, unknown>[]>();
  for (const row of rows) {
    const { uuid, time } = row;
    if (typeof uuid !== "string" || !(time instanceof Date))
      throw new GpulseError("RUN_FILE", `The trace of ${shown} has a row without uuid or time.`);
    const own = byGpu.get(uuid);
    if (own === undefined) byGpu.set(uuid, [row]);
    else own.push(row);
  }
  return new Map([...byGpu].map(([uuid, own]) => [uuid, gpuTrace(own)]));
}

function gpuTrace(rows: readonly Record<string, unknown>[]): GpuTrace {
  const columns = new Map<string, Float64Array>();
  for (const name of Object.keys(rows[0] ?? {})) {
    if (identity.has(name)) continue;
    const column = Float64Array.from(rows, (row) => {
      const value = row[name];
      return typeof value === "number" ? value : Number.NaN;
    });
    // A column of another GPU of the same file.
    if (column.some((value) => !Number.isNaN(value))) columns.set(name, column);
  }
  return { timeMs: Float64Array.from(rows, ({ time }) => (time as Date).getTime()), columns };
}
