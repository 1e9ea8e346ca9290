/** Small lakes for tests: rows as a person would write them down, in the files a lake has. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parquetWriteBuffer } from "hyparquet-writer";
import { makeFolderSync } from "../../base/make-folder.ts";
import { FolderFiles } from "../../net/objects/folder.ts";
import type { AnalysisResult } from "./analysis.ts";
import { runOnDuckdb } from "./duckdb/engine.ts";
import { listLake } from "./lake-files.ts";
import { analyses, findAnalysis } from "./list.ts";
import { type RawParameters, readParameters } from "./parameters.ts";

export interface FixtureRow {
  readonly timeMs: number;
  readonly uuid?: string;
  readonly gpu?: number;
  readonly host?: string;
  readonly [column: string]: number | string | null | undefined;
}

const identity = new Set(["timeMs", "uuid", "gpu", "host"]);

/** Writes the rows as one more file of their date; columns are those that some row names. */
export function writeLake(dir: string, rows: readonly FixtureRow[], file = "part"): void {
  const dates = new Map<string, FixtureRow[]>();
  for (const row of rows) {
    const date = new Date(row.timeMs).toISOString().slice(0, 10);
    const own = dates.get(date);
    if (own === undefined) dates.set(date, [row]);
    else own.push(row);
  }
  for (const [date, own] of dates) {
    const names = [...new Set(own.flatMap((row) => Object.keys(row)))].filter(
      (one) => !identity.has(one),
    );
    const bytes = parquetWriteBuffer({
      columnData: [
        { name: "time", data: own.map(({ timeMs }) => new Date(timeMs)), type: "TIMESTAMP" },
        { name: "host", data: own.map(({ host }) => host ?? "lab"), type: "STRING" },
        { name: "uuid", data: own.map(({ uuid }) => uuid ?? "GPU-a"), type: "STRING" },
        { name: "gpu", data: own.map(({ gpu }) => gpu ?? 0), type: "INT32" },
        { name: "model", data: own.map(() => "Test GPU"), type: "STRING" },
        ...names.map((name) => ({
          name,
          data: own.map((row) => (typeof row[name] === "number" ? row[name] : null)),
          type: "DOUBLE" as const,
          nullable: true,
        })),
      ],
    });
    const folder = path.join(dir, "gpu", `date=${date}`);
    makeFolderSync(folder);
    writeFileSync(path.join(folder, `${file}.parquet`), Buffer.from(bytes));
  }
}

export async function analyseLake(
  dir: string,
  names: readonly string[],
  given: RawParameters = {},
): Promise<readonly AnalysisResult[]> {
  const settings = readParameters(given, 0);
  const lake = await listLake(new FolderFiles(dir), settings);
  return runOnDuckdb(
    {
      analyses: names[0] === "all" ? analyses : names.flatMap((name) => findAnalysis(name) ?? []),
      settings,
      paths: lake.files.map((file) => path.join(dir, file.path)),
      span: lake.span,
    },
    { tempDir: path.join(dir, "temporary") },
  );
}

/** The rows as objects, for comparing the columns a test is about. */
export const objects = (result: AnalysisResult | undefined): Record<string, unknown>[] =>
  (result?.rows ?? []).map((row) =>
    Object.fromEntries(result?.columns.map(({ name }, place) => [name, row[place]]) ?? []),
  );

/** A machine of three GPUs over some days with all that analyses look for: a random walk of load, spikes, gaps, absences, rows that came twice. */
export function eventfulRows(days: number, stepMs: number, seed = 1): FixtureRow[] {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const startMs = Date.UTC(2026, 2, 27);
  const rows: FixtureRow[] = [];
  for (let gpu = 0; gpu < 3; gpu++) {
    let [load, temperature, joules, stuckFor] = [0, 35, 1e6, 0];
    for (let timeMs = startMs; timeMs < startMs + days * 86_400_000; timeMs += stepMs) {
      if (random() < 0.01) load = random() < 0.4 ? 0 : random();
      const power = 60 + 400 * load + 10 * random();
      stuckFor = random() < 0.003 ? 8 : Math.max(0, stuckFor - 1);
      const fan = stuckFor > 0 ? 0 : 1_000 + 1_500 * load;
      const target = 30 + power * (fan === 0 ? 0.25 : 0.1);
      temperature += (target - temperature) * 0.3 + random();
      joules += (power * stepMs) / 1_000;
      if (random() < 0.01) timeMs += Math.floor(random() * 1_200_000);
      const row: FixtureRow = {
        timeMs,
        uuid: `GPU-${gpu}`,
        gpu,
        gpu_utilization_ratio: random() < 0.02 ? null : Math.round(load * 100) / 100,
        gpu_memory_used_bytes: Math.floor(load * 80) * 2 ** 30,
        gpu_memory_controller_utilization_ratio: Math.round(load * 70) / 100,
        gpu_power_watts: random() < 0.02 ? null : power,
        gpu_energy_joules_total: joules,
        gpu_temperature_celsius_edge: temperature,
        ...(gpu === 1 ? {} : { gpu_temperature_celsius_hotspot: temperature + 10 + random() }),
        gpu_clock_hertz_graphics: 1.2e9 + Math.floor(load * 80) * 1e7,
        gpu_fan_rpm_1: fan,
        gpu_fan_speed_ratio_1: fan / 3_000,
        host_cpu_temperature_celsius_package: 45 + 10 * load,
      };
      rows.push(row);
      if (random() < 0.01) rows.push(row);
    }
  }
  return rows;
}
