import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openBytes } from "./decode.ts";
import { encodeRows } from "./encode.ts";
import { columns } from "../model/columns.ts";
import { joinRows, sortRows } from "./order.ts";
import { tables } from "./schema.ts";
import { GrowingRows, type Rows } from "./table.ts";

/** The schema that readers of the first version rely on: removing, renaming or retyping one of its columns breaks them. */
const promised = [
  "time:time",
  "host:text",
  "uuid:text",
  "gpu:integer",
  "vendor:text",
  "model:text",
  "simulated:boolean",
  "tags:text",
  "gpu_up:number",
  "gpu_utilization_ratio:number",
  "gpu_memory_used_bytes:number",
  "gpu_memory_total_bytes:number",
  "gpu_temperature_celsius_edge:number",
  "gpu_temperature_celsius_hotspot:number",
  "gpu_temperature_celsius_memory:number",
  "gpu_power_watts:number",
  "gpu_power_limit_watts:number",
  "gpu_energy_joules_total:number",
  "gpu_clock_hertz_graphics:number",
  "gpu_clock_hertz_memory:number",
  "gpu_fan_speed_ratio_1:number",
  "gpu_fan_rpm_1:number",
  "gpu_throttle_active_thermal:number",
  "host_cpu_temperature_celsius_package:number",
  "host_memory_used_bytes:number",
];

test("every column that the first version promised is there, of its kind", () => {
  const now = new Set(tables.gpu.map(({ name, kind }) => `${name}:${kind}`));
  expect(promised.filter((column) => !now.has(column))).toEqual([]);
});

function rows(watts: number, more: Record<string, number> = {}): Rows {
  const growing = new GrowingRows("gpu");
  const row = growing.row("A", watts);
  growing.setText(row, "uuid", "A");
  growing.setNumber(row, "gpu_power_watts", watts);
  for (const [name, value] of Object.entries(more)) growing.setNumber(row, name, value);
  return growing.finish();
}

const older = tables.gpu.filter(({ name }) => name !== "gpu_power_limit_watts");
const newer = [...tables.gpu, { name: "gpu_shine_ratio", kind: "number" as const }];

test("a file of an older schema is read, and merged with a new one: its missing column is null", async () => {
  const old = await openBytes(await encodeRows(rows(1), { version: "0", columns: older }), "old");
  const now = await openBytes(
    await encodeRows(rows(2, { gpu_power_limit_watts: 700 }), { version: "1" }),
    "new",
  );
  const merged = sortRows(joinRows([await old.rows(0, 1), await now.rows(0, 1)]));
  const limit = merged.numbers.find(({ name }) => name === "gpu_power_limit_watts");
  expect([...merged.times]).toEqual([1, 2]);
  expect([...(limit?.present ?? [])]).toEqual([0, 1]);
});

test("a file of a newer schema is read by this one: what it does not know is passed over", async () => {
  const bytes = await encodeRows(rows(3, { gpu_shine_ratio: 0.5 }), {
    version: "9",
    columns: newer,
  });
  const read = await (await openBytes(bytes, "newer")).rows(0, 1);
  expect(read.numbers.map(({ name }) => name)).toEqual(["gpu_power_watts"]);
});

test("DuckDB reads old and new files together, by name, and old queries go on", async (context) => {
  const duckdb = await import("@duckdb/node-api").catch(() => undefined);
  if (duckdb === undefined) return context.skip("@duckdb/node-api is not installed");
  const folder = await mkdtemp(join(tmpdir(), "gpulse-evolution-"));
  try {
    await writeFile(
      join(folder, "a.parquet"),
      await encodeRows(rows(1), { version: "0", columns: older }),
    );
    await writeFile(
      join(folder, "b.parquet"),
      await encodeRows(rows(2, { gpu_power_limit_watts: 700 }), { version: "1" }),
    );
    const connection = await (await duckdb.DuckDBInstance.create(":memory:")).connect();
    const ask = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
    expect(await ask(`SELECT sum(gpu_power_watts) FROM '${folder}/*.parquet'`)).toEqual([[3]]);
    expect(
      await ask(
        `SELECT gpu_power_watts, gpu_power_limit_watts FROM read_parquet('${folder}/*.parquet', union_by_name = true) ORDER BY 1`,
      ),
    ).toEqual([
      [1, null],
      [2, 700],
    ]);
    connection.closeSync();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a table has a column for each of the catalogue's, and a file every one of them", async () => {
  const { parquetMetadata } = await import("hyparquet");
  const bytes = await encodeRows(rows(1), { version: "1" });
  const { schema, key_value_metadata } = parquetMetadata(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer,
  );
  expect(schema.length - 1).toBe(columns.length + 8);
  expect(key_value_metadata).toContainEqual({ key: "gpulse.schema", value: "1" });
});

test("an encoded file has memory of its own, which a worker can give away", async () => {
  const bytes = await encodeRows(rows(1), { version: "1" });
  expect(bytes.buffer.byteLength).toBe(bytes.byteLength);
  const moved = structuredClone(bytes, { transfer: [bytes.buffer as ArrayBuffer] });
  const read = await (await openBytes(moved, "moved")).rows(0, 1);
  expect([...read.times]).toEqual([1]);
});
