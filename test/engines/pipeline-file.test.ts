import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { startInfluxDb } from "../../engines/influxdb.ts";
import { startKafka } from "../../engines/kafka.ts";
import { orSkip } from "../../engines/cache.ts";
import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { gpuzLog } from "../fixtures/cli/pipe.ts";
import { silentLog } from "../../src/base/log.ts";
import { openSources } from "../../src/sources/open.ts";
import type { StreamingSource } from "../../src/sources/source.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 60_000);

const rows = 5_000;
const broken = "2024-01-14 99:99:99 , this row is broken ,\r\n";

/** The time and the GPU's tags of every frame in a lake. */
async function readLake(folder: string): Promise<Map<number, readonly string[]>> {
  const context = { host: "h", log: silentLog, nowMs: () => 0, sysfs: "/sys", procfs: "/proc" };
  const [opened] = await openSources([`parquet:${folder}?series=false`], context);
  const found = new Map<number, readonly string[]>();
  const source = opened?.source as StreamingSource;
  await source.run(async (frame, about) => {
    found.set(frame.timeMs, [...(about?.tags?.values() ?? [])].flat());
  }, new AbortController().signal);
  await source.close();
  return found;
}

test(
  "one file takes a log through Kafka into InfluxDB and a lake, and goes on where it was broken off",
  { timeout: 240_000 },
  async (context) => {
    const folder = await mkdtemp(path.join(tmpdir(), "gpulse-pipeline-"));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const [kafka, influx] = await orSkip(context, Promise.all([startKafka(), startInfluxDb()]));
    cleanups.push(() => kafka.stop());
    cleanups.push(() => influx.stop());
    const log = path.join(folder, "sensors.txt");
    await writeFile(log, gpuzLog(rows, { 10: broken }));
    const file = path.join(folder, "pipeline.yaml");
    const topic = `kafka://${kafka.bootstrap}/gpu-metrics`;
    await writeFile(
      file,
      `
stages:
  upload: { upload: ${log}, to: ${folder}/raw }
  replay:
    replay: ${log}
    to: ${topic}?create=true&partitions=3
    speed: max
    flags: { gpu-name: GeForce RTX 4090, timezone: UTC }
    after: [upload]
  influxdb:
    from: ${topic}?group=influxdb
    to: influxdb://${new URL(influx.url).host}/gpu?create=true&preset=gpuz
    until_idle: 8s
  lake:
    from: ${topic}?group=lake
    to: parquet:${folder}/lake
    until_idle: 8s
    thresholds: { high_power: 5000, critical_power: off, high_gpu_temperature: off, critical_temperature: off }
    tags: { overload: gpu_temperature > 100 and board_power < 352 }
  analyse: { analyze: daily, input: ${folder}/lake, output: ${folder}/daily.json, after: [lake] }
`,
    );
    const run = () => {
      const main = path.join(repository, "src/cli/main.ts");
      const args = [
        "--import",
        "tsx",
        main,
        "pipe",
        "-f",
        file,
        "--data",
        path.join(folder, "data"),
      ];
      return runProcess(process.execPath, args, { cwd: repository, timeoutMs: 120_000 });
    };
    const first = await run();
    expect(first.code, first.stderr).toBe(0);
    expect(await readFile(path.join(folder, "raw/sensors.txt"))).toEqual(await readFile(log));

    expect(await readFile(path.join(folder, "daily.json"), "utf8")).toContain("2024-01-14");
    const [series] = await influx.query("SELECT count(board_power) FROM gpu_metrics", "gpu");
    expect(series?.values[0]?.[1]).toBe(rows - 1);
    const lake = await readLake(path.join(folder, "lake"));
    expect(lake.size).toBe(rows - 1);
    const startMs = Date.UTC(2024, 0, 14, 18);
    const overload = [...lake].filter(([, tags]) => tags.includes("overload"));
    // 60 °C and 250 W in the first row, each increasing by one per second; values over 150 °C mean a broken sensor.
    expect(overload.map(([timeMs]) => (timeMs - startMs) / 1_000)).toEqual(
      Array.from({ length: 50 }, (_, at) => at + 41),
    );
    const read =
      "--from-beginning --max-messages 1 --timeout-ms 15000 --property print.headers=true";
    const letters = await kafka.tool("org.apache.kafka.tools.consumer.ConsoleConsumer", [
      "--bootstrap-server",
      kafka.bootstrap,
      "--topic",
      "gpu-metrics.dead-letter",
      ...read.split(" "),
    ]);
    expect(letters.stdout).toMatch(/error:the line does not begin with a date.*this row is broken/);

    const second = await run();
    expect(second.code).toBe(0);
    expect(second.stderr).toContain("Every stage is done");
  },
);
