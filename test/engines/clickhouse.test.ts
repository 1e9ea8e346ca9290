// The ClickHouse sink against a real ClickHouse: tables are created, rows are stored once despite retries, and errors
// say what to do.

import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { type RunningClickHouse, startClickHouse } from "../../engines/clickhouse.ts";
import { ensureBuild } from "../../engines/program.ts";
import type { Delivery, Sink } from "../../src/pipeline/sink.ts";
import { frames, gpus, sinkTo } from "./kafka-lab.ts";
import { startGpulse } from "./stream-lab.ts";

let started: Promise<RunningClickHouse> | undefined;
beforeAll(ensureBuild, 300_000);
afterAll(async () => (await started)?.stop());

const server = (context: TestContext): Promise<RunningClickHouse> =>
  orSkip(context, (started ??= startClickHouse()));

const urlOf = ({ address, passwords }: RunningClickHouse, database: string, more = ""): string =>
  `clickhouse://gpulse:${passwords.gpulse}@${address}/${database}?linger=10m${more}`;

const stored = (sink: Sink): Promise<void> | undefined =>
  sink.flush?.(new AbortController().signal);

async function writeAll(sink: Sink, deliveries: readonly Delivery[]): Promise<void> {
  for (const delivery of deliveries) await sink.write(delivery);
  await stored(sink);
  await sink.close();
}

const twelve = gpus(12);
const make = frames(twelve);
const deliveries = (count: number): Delivery[] =>
  Array.from({ length: count }, (_, at) => make(at));

test("tables are created on first use, and every row arrives with its columns, absent as NULL", async (context) => {
  const clickhouse = await server(context);
  await clickhouse.query("CREATE DATABASE first");
  await writeAll(await sinkTo(urlOf(clickhouse, "first", "&batch-rows=1000")), deliveries(500));
  expect(
    await clickhouse.query(
      `SELECT toUInt32(count()) AS rows, toUInt32(uniqExact(uuid, time)) AS different,
        toUInt32(countIf(gpu_power_watts = toUnixTimestamp(time) % 86400 % 1000)) AS right,
        toUInt32(count(gpu_temperature_celsius_edge)) AS temperatures, any(tags) AS tag,
        toString(min(time)) AS since FROM first.gpu`,
    ),
  ).toEqual([
    {
      rows: 6_000,
      different: 6_000,
      right: 6_000,
      temperatures: 0,
      tag: "high_power",
      since: "2026-01-01 00:00:00.000",
    },
  ]);
  // A table of an earlier version gets its missing columns.
  await clickhouse.query("ALTER TABLE first.gpu DROP COLUMN gpu_power_watts");
  await writeAll(await sinkTo(urlOf(clickhouse, "first")), [make(1_000)]);
  expect(
    await clickhouse.query(
      "SELECT toUInt32(count()) AS rows, toUInt32(count(gpu_power_watts)) AS readings FROM first.gpu",
    ),
  ).toEqual([{ rows: 6_012, readings: 12 }]);
});

test("a batch whose answer is lost, or that the server fails for a while, is stored once", async (context) => {
  const clickhouse = await server(context);
  await clickhouse.query("CREATE DATABASE again");
  const sink = await sinkTo(urlOf(clickhouse, "again", "&batch-rows=600"));
  await sink.write(make(0));
  await stored(sink);
  await clickhouse.loseNext(2);
  for (const delivery of deliveries(200).slice(1, 100)) await sink.write(delivery);
  await stored(sink);
  await clickhouse.failNext(2);
  await writeAll(sink, deliveries(200).slice(100));
  expect(sink.shipping?.().ship.retries).toBeGreaterThanOrEqual(4);
  expect(await clickhouse.query("SELECT toUInt32(count()) AS rows FROM again.gpu")).toEqual([
    { rows: 2_400 },
  ]);
});

test("readings of one instant that come apart become one row, with every column", async (context) => {
  const clickhouse = await server(context);
  await clickhouse.query("CREATE DATABASE apart");
  const sink = await sinkTo(urlOf(clickhouse, "apart"));
  await sink.write(make(7));
  await stored(sink);
  const tagged = { ...make(7), tags: new Map([["GPU-3", ["late"]]]) };
  const { presence } = tagged.frame;
  await writeAll(sink, [
    {
      ...tagged,
      frame: { ...tagged.frame, presence: presence.map((_, at) => (at === 3 ? 0 : 1)) },
    },
  ]);
  expect(
    await clickhouse.query(
      "SELECT tags, gpu_power_watts AS watts, toUInt32(gpu) AS gpu FROM apart.gpu FINAL WHERE uuid = 'GPU-3'",
    ),
  ).toEqual([{ tags: "late", watts: 7, gpu: 3 }]);
  expect(await clickhouse.query("SELECT toUInt32(count()) AS rows FROM apart.gpu FINAL")).toEqual([
    { rows: 12 },
  ]);
});

test("a pipe says what is wrong with the server, the database, the tables or the user, and commits nothing", async (context) => {
  const clickhouse = await server(context);
  const { address, passwords } = clickhouse;
  await clickhouse.query("CREATE DATABASE wrong");
  await clickhouse.query("CREATE TABLE wrong.other (time DateTime) ENGINE = Memory");
  const user = `username=gpulse&password=${passwords.gpulse}`;
  const cases: readonly (readonly [url: string, says: RegExp])[] = [
    [`${address}/wrong?username=gpulse&password=no`, /Code: 516.*Give username= and password=/s],
    [
      `${address}/wrong?username=reader&password=${passwords.reader}`,
      /Code: 497.*Grant that user/s,
    ],
    [`${address}/nowhere?${user}`, /Code: 81.*CREATE DATABASE `nowhere`/s],
    [`${address}/wrong?${user}&create=false`, /Code: 60.*give create=true/s],
    [`${address}/wrong?${user}&create=false&table=other`, /The table has other columns or types/],
  ];
  for (const [url, says] of cases) {
    const pipe = startGpulse([
      "pipe",
      "--from",
      "sim:1",
      "--for",
      "1s",
      "--to",
      `clickhouse://${url}`,
    ]);
    expect((await pipe.waitForExit(60_000)).code, pipe.output()).toBe(1);
    expect(pipe.output()).toMatch(says);
    expect(pipe.output()).not.toContain(passwords.gpulse);
  }
}, 120_000);
