import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { parquetReadObjects } from "hyparquet";
import { afterEach, expect, test } from "vitest";
import { eventfulRows, writeLake } from "../../../test/fixtures/lake/analyses.ts";
import { analyses as allAnalyses } from "../../lake/analyses/list.ts";
import { buildProgram } from "../program.ts";
import { analysisNames } from "./command.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function folder(): string {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-analyze-test-"));
  dirs.push(dir);
  return dir;
}

async function gpulse(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const io = {
    env: { PATH: "" },
    stdout,
    stderr,
    version: "1.2.3",
    stopped: () => new Promise<string>(() => {}),
  };
  const { program, exitCode } = buildProgram(io);
  await program.parseAsync(["analyze", ...args], { from: "user" });
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { code: exitCode(), out, err };
}

function lake(): string {
  const dir = folder();
  writeLake(dir, eventfulRows(1, 120_000));
  return dir;
}

test("answers are printed as a table, as JSON with units, and as CSV", async () => {
  const input = lake();
  const table = await gpulse("energy", "--input", input);
  expect(table.out).toMatch(/Energy, cost and CO₂\nday +host +gpu .*energy \(kWh\)/);
  expect(table.out).toMatch(/2026-03-27 +lab +0 /);
  const json = JSON.parse((await gpulse("energy", "--input", input, "--format", "json")).out) as {
    analyses: {
      name: string;
      columns: { name: string; unit: string }[];
      rows: Record<string, unknown>[];
    }[];
  };
  expect(json.analyses[0]?.columns).toContainEqual(
    expect.objectContaining({ name: "energy_kwh", unit: "kWh" }),
  );
  expect(json.analyses[0]?.rows[0]?.["cost"]).toBeNull();
  const csv = await gpulse("energy", "--input", input, "--format", "csv");
  expect(csv.out).toMatch(/^day,host,gpu,uuid,model,samples,covered_hours,energy_kwh/);
});

test("answers are saved: a Parquet file an analysis, and a report that fetches nothing", async () => {
  const input = lake();
  const output = folder();
  expect(
    await gpulse("daily", "idle", "--input", input, "--output", output, "--format", "parquet"),
  ).toMatchObject({ code: 0 });
  expect(readdirSync(output).filter((name) => name.endsWith(".parquet"))).toEqual([
    "daily.parquet",
    "idle.parquet",
  ]);
  const bytes = readFileSync(path.join(output, "idle.parquet"));
  const rows = await parquetReadObjects({
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
  });
  expect(rows).toHaveLength(3);
  const report = path.join(output, "report.html");
  expect(await gpulse("--input", input, "--output", report)).toMatchObject({ code: 0 });
  const html = readFileSync(report, "utf8");
  expect(html.match(/<h2>/g)).toHaveLength(7);
  expect(html).toContain("<svg");
  expect(html).toContain("prefers-color-scheme:dark");
  expect(html).not.toMatch(/https?:\/\//);
  expect(html).not.toContain("<script");
});

test("a GPU-Z log gives a report in one command", async () => {
  const dir = folder();
  const log = path.join(dir, "GPU-Z Sensor Log.txt");
  const line = (second: number) =>
    `2026-01-05 10:00:${String(second).padStart(2, "0")} , 1500.0 , ${40 + second / 10} , 45 , 120.5 , \n`;
  const rows = Array.from({ length: 60 }, (_, second) => line(second)).join("");
  writeFileSync(
    log,
    `        Date        , GPU Clock [MHz] , GPU Temperature [°C] , GPU Load [%] , Board Power Draw [W] , \n${rows}`,
    "latin1",
  );
  const answer = await gpulse(
    "daily",
    "--input",
    log,
    "--format",
    "json",
    "--gpu-name",
    "GeForce RTX 4090",
  );
  expect(answer.err).toBe("");
  expect(answer).toMatchObject({ code: 0 });
  const { analyses } = JSON.parse(answer.out) as {
    analyses: { rows: Record<string, unknown>[] }[];
  };
  expect(analyses[0]?.rows).toEqual([
    expect.objectContaining({
      day: "2026-01-05",
      samples: 60,
      power_max_watts: 120.5,
      utilization_mean: expect.closeTo(0.45, 9) as unknown,
    }),
  ]);
});

test.each([
  [["weekly"], 2, /no analysis "weekly"/],
  [["dayly"], 2, /Did you mean "daily"/],
  [["--engine", "flink"], 2, /duckdb or spark/],
  [["--gap", "sometimes"], 2, /gap must be a duration/],
  [["--format", "parquet"], 2, /Save it with --output/],
  [["--input", "nowhere"], 1, /no files of the GPU table.*creates a lake/],
  [["--input", "hdfs://nn/lake"], 2, /webhdfs:/],
  [["--input", "hdfs://nn/lake", "--engine", "spark"], 2, /No spark-sql on the PATH/],
  [
    ["--spark-home", "/no/spark", "--engine", "spark", "--input", "hdfs://nn/lake"],
    2,
    /no bin\/spark-sql/,
  ],
] as const)("%j ends with %i and says what to do", async (args, code, says) => {
  const answer = await gpulse(...args);
  expect(answer.err).toMatch(says);
  expect(answer.code).toBe(code);
});

test("a broken file of the lake is named", async () => {
  const dir = lake();
  const file = path.join(dir, "gpu", "date=2026-03-27", "broken.parquet");
  writeFileSync(file, "no parquet at all, but long enough to look for its end");
  expect(existsSync(file)).toBe(true);
  const answer = await gpulse("daily", "--input", dir);
  expect(answer.code).toBe(1);
  expect(answer.err).toMatch(/broken\.parquet/);
});

test("help and shell completion name every analysis", () => {
  expect(analysisNames).toEqual(allAnalyses.map(({ name }) => name));
});
