/** Generates a lake of any size with DuckDB from a seed: eight GPUs, forty metrics, a row every eight seconds. */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { commitPath } from "../src/lake/commit.ts";
import { columns } from "../src/model/columns.ts";

export const gpus = 8;
export const metricsPerRow = 40;
export const stepSeconds = 8;

/** The metrics that analyses read, with realistic shapes; the others are filled with numbers that change as slowly. */
const shaped: Readonly<Record<string, string>> = {
  gpu_utilization_ratio: "round(load, 2)",
  gpu_memory_controller_utilization_ratio: "round(load * 0.7, 2)",
  gpu_memory_used_bytes: "floor(load * 80) * 1073741824",
  gpu_power_watts: "round(80 + 600 * load + 10 * noise, 1)",
  gpu_energy_joules_total: "round(tick * 8 * 300.0 + gpu, 1)",
  gpu_temperature_celsius_edge:
    "round(30 + 45 * load + 2 * noise + case when hash(tick // 5, gpu) % 2000 = 0 then 20 else 0 end, 0)",
  gpu_temperature_celsius_hotspot: "round(38 + 50 * load + 3 * noise, 0)",
  gpu_clock_hertz_graphics: "1e9 + floor(load * 90) * 1e7",
  gpu_fan_speed_ratio_1: "round(0.3 + 0.6 * load, 2)",
  gpu_fan_rpm_1: "round(1000 + 2000 * load, 0)",
};

export interface BenchLake {
  readonly rows: number;
  readonly bytes: number;
}

/** @param metrics the columns of a row: at least the ten that analyses read */
export async function makeLake(
  dir: string,
  days: number,
  seed: number,
  metrics = metricsPerRow,
): Promise<BenchLake> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const others = columns
    .flatMap(({ name }) => (name in shaped ? [] : [name]))
    .slice(0, metrics - Object.keys(shaped).length);
  const filled = [
    ...Object.entries(shaped).map(([name, sql]) => `(${sql})::double as ${name}`),
    ...others.map(
      (name, at) =>
        `round(${at + 1} * load + (hash(tick, gpu, ${at}) % ${at % 3 === 0 ? 1 : 100}) / 100.0, 2)::double as ${name}`,
    ),
  ];
  const steps = Math.floor((days * 86_400) / stepSeconds);
  const instance = await DuckDBInstance.create(":memory:", { memory_limit: "4GB" });
  const connection = await instance.connect();
  mkdirSync(path.join(dir, "gpu"), { recursive: true });
  for (let day = 0; day < days; day++) {
    const folder = path.join(
      dir,
      "gpu",
      `date=${new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10)}`,
    );
    mkdirSync(folder, { recursive: true });
    const [from, to] = [Math.floor((steps * day) / days), Math.floor((steps * (day + 1)) / days)];
    await connection.run(`copy (
      with rows as (
        select tick, gpu, (hash(tick, gpu, ${seed}) % 1000) / 1000.0 as noise,
          -- Work that goes on for half an hour, and nights with less of it.
          case when hash(tick // 225, gpu, ${seed}) % 10 < 3 then 0.0 else (hash(tick // 225, gpu, ${seed} + 1) % 100) / 100.0 end as load
        from range(${from}, ${to}) t(tick), range(${gpus}) g(gpu)
      )
      select make_timestamptz((1767225600 + tick * ${stepSeconds}) * 1000000) as time, 'node-1' as host,
        'GPU-' || gpu as uuid, gpu::int as gpu, 'nvidia' as vendor, 'Bench' as model, ${filled.join(", ")}
      from rows order by uuid, time
    ) to '${path.join(folder, "bench.parquet").replaceAll("'", "''")}' (format parquet, compression zstd)`);
  }
  connection.closeSync();
  instance.closeSync();
  const bytes = readdirSync(path.join(dir, "gpu"), { recursive: true, encoding: "utf8" })
    .map((name) => statSync(path.join(dir, "gpu", name)))
    .reduce((sum, one) => sum + (one.isFile() ? one.size : 0), 0);
  return { rows: steps * gpus, bytes };
}

/** Gives the lake the manifest that gpulse would have written with its files. */
export function makeManifest(dir: string, days: number): void {
  const rows = Math.floor(86_400 / stepSeconds) * gpus;
  const added = Array.from({ length: days }, (_, day) => {
    const dayMs = Date.UTC(2026, 0, 1 + day);
    const name = `gpu/date=${new Date(dayMs).toISOString().slice(0, 10)}/bench.parquet`;
    const { size: bytes } = statSync(path.join(dir, name));
    return {
      path: name,
      rows,
      bytes,
      firstMs: dayMs,
      lastMs: dayMs + 86_400_000 - stepSeconds * 1_000,
    };
  });
  const commit = {
    version: 1,
    sequence: 1,
    id: randomUUID(),
    timeMs: Date.now(),
    operation: "append",
    added,
    removed: [],
  };
  const place = path.join(dir, commitPath(1));
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, JSON.stringify(commit));
}
