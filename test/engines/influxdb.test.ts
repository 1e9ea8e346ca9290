// The InfluxDB sink against a real InfluxDB 1, with the real rows of a GPU-Z log, and its v2 API against
// VictoriaMetrics.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningInfluxDb, startInfluxDb } from "../../engines/influxdb.ts";
import { EngineMissingError, orSkip } from "../../engines/cache.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { frames, gpus, lines, sinkTo, startMs } from "./kafka-lab.ts";
import { logStartMs, pipeLog, writeLog } from "./influxdb-lab.ts";

const rows = 3_000;
const forever = new AbortController().signal;
let missing: string | undefined;
let influx: RunningInfluxDb;
let folder = "";
let log = "";

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-influxdb-test-"));
  log = path.join(folder, "GPU-Z Sensor Log.txt");
  await writeLog(log, rows);
  try {
    influx = await startInfluxDb();
  } catch (error) {
    if (!(error instanceof EngineMissingError)) throw error;
    missing = error.message;
  }
});
afterAll(async () => {
  if (missing === undefined) await influx.stop();
  await rm(folder, { recursive: true, force: true });
});

const url = (database: string, query = ""): string =>
  `${influx.url.replace("http", "influxdb")}/${database}?${query}`;
const needsServer = (context: { skip(note: string): never }): void => {
  if (missing !== undefined) context.skip(missing);
};

/** The only row of a result, by column. */
async function ask(influxQl: string, database: string): Promise<Record<string, unknown>> {
  const [series] = await influx.query(influxQl, database);
  return Object.fromEntries(
    (series?.columns ?? []).map((column, at) => [column, series?.values[0]?.[at]]),
  );
}

test("every row of a GPU-Z log is there once, under the GPU-Z names, however often it is sent", async (context) => {
  needsServer(context);
  await pipeLog(log, url("gpuz", "create=true&preset=gpuz"));
  await pipeLog(log, url("gpuz", "preset=gpuz"));
  const counted = await ask(
    "SELECT count(gpu_temperature), max(board_power), min(cpu_temperature), max(gpu_load), max(system_memory_used) FROM gpu_metrics",
    "gpuz",
  );
  expect(counted).toMatchObject({ count: rows, max: 299.9, min: 67.5, max_1: 97, max_2: 17_888 });
  const last = await ask("SELECT last(gpu_temperature) FROM gpu_metrics GROUP BY *", "gpuz");
  expect(last["time"]).toBe(logStartMs + (rows - 1) * 1_000);
  const [first] = await influx.query("SHOW TAG KEYS FROM gpu_metrics", "gpuz");
  expect(first?.values.flat()).toEqual(["gpu", "host", "model", "uuid"]);
  const hot = await ask(
    "SELECT count(tags), sum(anomalies) FROM gpu_metrics WHERE gpu_temperature > 90",
    "gpuz",
  );
  expect(hot).toMatchObject({ count: (rows / 60) * 9 });
  expect(hot["sum"]).toBeGreaterThanOrEqual((rows / 60) * 18);
});

test("every query of the InfluxQL dashboard gives data of a replayed log", async (context) => {
  needsServer(context);
  interface Dashboard {
    /** Undefined for a row panel. */
    readonly panels: readonly { readonly targets?: readonly { readonly query: string }[] }[];
    readonly templating: { readonly list: readonly { readonly query: string }[] };
  }
  const file = await readFile("deploy/grafana/influxdb/gpuz.json", "utf8");
  const { panels, templating } = JSON.parse(file) as Dashboard;
  const queries = [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ query }) => query)),
    ...templating.list.map(({ query }) => query).filter((query) => query.startsWith("SHOW")),
  ];
  const empty: string[] = [];
  for (const query of queries) {
    // With Grafana's variables replaced.
    const asked = query
      .replace("$timeFilter", `time >= ${logStartMs}ms and time <= ${logStartMs + rows * 1_000}ms`)
      .replace("$__interval", "1m")
      .replace("$host", "(desk|other)")
      .replace("$model", ".*");
    const [series] = await influx.query(asked, "gpuz");
    const value = series?.values[0]?.[1];
    if (value === undefined || value === null) empty.push(query);
  }
  expect(queries.length).toBeGreaterThan(20);
  expect(empty).toEqual([]);
});

test("by default a GPU and its machine are measurements of their own, in base units", async (context) => {
  needsServer(context);
  await pipeLog(log, url("own", "create=true&gzip=false&tags=site=lab"));
  const counted = await ask(
    "SELECT count(gpu_power_watts), max(gpu_utilization_ratio) FROM gpu WHERE site = 'lab'",
    "own",
  );
  expect(counted).toMatchObject({ count: rows, max: 0.97 });
  const cpu = await ask("SELECT count(host_cpu_temperature_celsius_package) FROM host", "own");
  expect(cpu).toMatchObject({ count: rows });
});

test("a server that is killed and comes back has every point", async (context) => {
  needsServer(context);
  await influx.query("CREATE DATABASE killed");
  const { log: reported, said } = lines();
  const sink = await sinkTo(url("killed", "batch-bytes=4096&linger=5ms"), reported);
  const make = frames(gpus(4));
  for (let at = 0; at < 4_000; at++) {
    await sink.write(make(at));
    if (at === 2_000) await influx.kill();
  }
  const flushed = sink.flush?.(forever);
  await waitUntil({ what: "word of the failure", timeoutMs: 60_000 }, () =>
    Promise.resolve(said.find((line) => line.includes("send failed, will retry"))),
  );
  await influx.restart();
  await flushed;
  expect(await ask("SELECT count(gpu_power_watts) FROM gpu", "killed")).toMatchObject({
    count: 16_000,
  });
  await sink.close();
});

test("a database that is not there ends it with a code and what to do", async (context) => {
  needsServer(context);
  const sink = await sinkTo(url("nowhere"));
  await sink.write(frames(gpus(1))(0));
  await expect(sink.flush?.(forever)).rejects.toMatchObject({
    code: "SINK_FAILED",
    message: expect.stringMatching(/database not found.*Is there a database "nowhere"/) as unknown,
  });
  await sink.close();
});

test("points of which a field has another type are counted, the others are stored", async (context) => {
  needsServer(context);
  await influx.query("CREATE DATABASE conflict");
  const response = await fetch(`${influx.url}/write?db=conflict&precision=ms`, {
    method: "POST",
    body: `gpu,host=lab gpu_power_watts="text" ${startMs}`,
  });
  expect(response.status).toBe(204);
  const { log: reported, said } = lines();
  const sink = await sinkTo(url("conflict"), reported);
  const make = frames(gpus(2));
  const aWeekOn = 14 * 86_400;
  // A field's type is fixed within a shard of one week: the second point is in another shard.
  await sink.write(make(1));
  await sink.write(make(aWeekOn));
  await sink.flush?.(forever);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 2, refusedSamples: 2 });
  expect(said.join("")).toContain("field type conflict");
  await sink.close();
});

test("names no one should give are read back as they went", async (context) => {
  needsServer(context);
  const model = 'a,b=c d"e\\f';
  const devices = gpus(1).map((device) => ({ ...device, model, uuid: "DOMAIN\\gpu 0" }));
  const sink = await sinkTo(url("odd", "create=true&measurement=my gpu,x"));
  await sink.write({ ...frames(devices)(0), host: "ä🙂=" });
  await sink.flush?.(forever);
  const [series] = await influx.query('SELECT * FROM "my gpu,x" GROUP BY *', "odd");
  expect(series?.tags).toMatchObject({ model, uuid: "DOMAIN\\gpu 0" });
  await sink.close();
});

test("a user who may not write is told so, and one who may is let in", async (context) => {
  const guarded = await orSkip(context, startInfluxDb({ auth: true }));
  try {
    const to = (password: string): string =>
      `${guarded.url.replace("http", "influxdb")}/gpu?create=true&username=${guarded.user}&password=${password}`;
    const refused = await sinkTo(to("wrong"));
    await refused.write(frames(gpus(1))(0));
    await expect(refused.flush?.(forever)).rejects.toMatchObject({
      code: "SINK_FAILED",
      message: expect.stringMatching(/401.*username= and password=/) as unknown,
    });
    await refused.close();
    const taken = await sinkTo(to(guarded.password));
    await taken.write(frames(gpus(1))(0));
    await taken.flush?.(forever);
    await taken.close();
    const [series] = await guarded.query("SELECT count(gpu_power_watts) FROM gpu", "gpu");
    expect(series?.values[0]?.[1]).toBe(1);
  } finally {
    await guarded.stop();
  }
});

test("the second API's points are there, under the names VictoriaMetrics makes of them", async (context) => {
  const victoria = await startVictoriaMetrics(toolOrSkip(context, "victoria-metrics"));
  try {
    await pipeLog(
      log,
      `${victoria.url.replace("http", "influxdb")}/gpu?org=lab&token=any&preset=gpuz`,
    );
    await fetch(`${victoria.url}/internal/force_flush`);
    const at = logStartMs / 1_000 + rows;
    const count = async (): Promise<number> => {
      const query = `sum(count_over_time(gpu_metrics_gpu_temperature[${rows + 60}s]))`;
      const answer = await fetch(
        `${victoria.url}/api/v1/query?time=${at}&query=${encodeURIComponent(query)}`,
      );
      const { data } = (await answer.json()) as {
        data: { result: { value: [number, string] }[] };
      };
      return Number(data.result[0]?.value[1] ?? 0);
    };
    await expect.poll(count, { timeout: 60_000 }).toBe(rows);
  } finally {
    await victoria.stop();
  }
});
