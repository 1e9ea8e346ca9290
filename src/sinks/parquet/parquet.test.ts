import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addressOf } from "../../net/objects/open.ts";
import { createLog } from "../../base/log.ts";
import { identityOf } from "../../model/identity.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { systemClock } from "../../base/clock.ts";
import type { Delivery, SinkContext } from "../../pipeline/sink.ts";
import { openSink } from "../open.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-parquet-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const context: SinkContext = {
  log: createLog({ level: "error", json: false, colour: false, nowMs: () => 0, write: () => {} }),
  stdout: process.stdout,
  clock: systemClock,
  random: () => 0.5,
  hostName: "here",
  identity: identityOf("here"),
  spoolDir: "",
  version: "0.0.0-test",
};

const layout = (() => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "A", gpu: "1" }));
  builder.add(gpu.temperature, labelSet({ uuid: "A", gpu: "1", sensor: "edge" }));
  return builder.build();
})();

function delivery(timeMs: number, watts: number): Delivery {
  const writer = new FrameWriter(layout, timeMs);
  writer.set(0, watts);
  writer.absent(1, "denied");
  return {
    frame: writer.finish(),
    source: "t",
    tier: "stream",
    freshForMs: 1,
    devices: [{ uuid: "A", index: 1, vendor: "amd", model: "MI300X", simulated: true }],
    tags: new Map([["A", ["high_power"]]]),
  };
}

const day = Date.UTC(2026, 0, 15, 1, 2, 3, 4);

test("nothing is in files before a flush, everything after it, and closing merges what was written", async () => {
  const sink = await openSink(`parquet:${folder}/lake`, context);
  for (let at = 0; at < 3; at++) {
    await sink.write(delivery(day + at * 1_000, 100 + at));
    await sink.flush?.(new AbortController().signal);
    expect(await readdir(join(folder, "lake/gpu/date=2026-01-15"))).toHaveLength(at + 1);
  }
  await sink.close();
  expect(await readdir(join(folder, "lake/gpu/date=2026-01-15"))).toEqual([
    expect.stringMatching(/^merged-/),
  ]);
});

test("DuckDB reads the files with the types an analyst expects, and null where nothing was read", async (context_) => {
  const duckdb = await import("@duckdb/node-api").catch(() => undefined);
  if (duckdb === undefined) return context_.skip("@duckdb/node-api is not installed");
  const sink = await openSink(`parquet:${folder}/lake`, context);
  for (let at = 0; at < 3; at++) await sink.write(delivery(day + at * 1_000, 100.25 + at));
  await sink.close();
  const connection = await (await duckdb.DuckDBInstance.create(":memory:")).connect();
  const ask = async (sql: string) =>
    (
      await connection.runAndReadAll(sql.replace("LAKE", `'${folder}/lake/gpu/*/*.parquet'`))
    ).getRowObjectsJson();
  const types = await ask(
    "SELECT column_name AS name, column_type AS type FROM (DESCRIBE SELECT time, host, uuid, gpu, simulated, tags, date, gpu_power_watts FROM LAKE)",
  );
  expect(Object.fromEntries(types.map(({ name, type }) => [name, type]))).toEqual({
    time: "TIMESTAMP",
    host: "VARCHAR",
    uuid: "VARCHAR",
    gpu: "INTEGER",
    simulated: "BOOLEAN",
    tags: "VARCHAR",
    date: "DATE",
    gpu_power_watts: "DOUBLE",
  });
  expect(
    await ask(
      "SELECT time::VARCHAR AS time, host, uuid, gpu, vendor, model, simulated, tags, gpu_power_watts AS watts, gpu_temperature_celsius_edge AS edge FROM LAKE WHERE time = TIMESTAMP '2026-01-15 01:02:04.004' AND uuid = 'A'",
    ),
  ).toEqual([
    {
      time: "2026-01-15 01:02:04.004",
      host: "here",
      uuid: "A",
      gpu: 1,
      vendor: "amd",
      model: "MI300X",
      simulated: true,
      tags: "high_power",
      watts: 101.25,
      edge: null,
    },
  ]);
  expect(
    await ask(
      "SELECT count(*)::INT AS n, sum(gpu_power_watts) AS w FROM LAKE WHERE gpu_power_watts > 101",
    ),
  ).toEqual([{ n: 2, w: 203.5 }]);
  connection.closeSync();
});

test("a copy elsewhere has the merged file alone, and keeps a day that was forgotten here", async () => {
  const mirror = encodeURIComponent(`${folder}/copy`);
  const sink = await openSink(`parquet:${folder}/lake?mirror=${mirror}`, context);
  await sink.write(delivery(day, 1));
  await sink.close();
  const again = await openSink(`parquet:${folder}/lake?mirror=${mirror}&merge=all`, context);
  await again.write(delivery(day + 1, 1));
  await again.close();
  expect(await readdir(join(folder, "copy/gpu/date=2026-01-15"))).toEqual(
    await readdir(join(folder, "lake/gpu/date=2026-01-15")),
  );
  const later = await openSink(`parquet:${folder}/lake?mirror=${mirror}&merge=all&retention=1d`, {
    ...context,
    clock: { ...systemClock, nowMs: () => day + 5 * 86_400_000 },
  });
  // Retention never passes the newest day that was in the lake when it was opened.
  await later.write(delivery(day + 5 * 86_400_000, 1));
  await later.close();
  expect(await readdir(join(folder, "lake/gpu/date=2026-01-15"))).toHaveLength(1);
  const last = await openSink(`parquet:${folder}/lake?mirror=${mirror}&merge=all&retention=1d`, {
    ...context,
    clock: { ...systemClock, nowMs: () => day + 5 * 86_400_000 },
  });
  await last.close();
  expect(await readdir(join(folder, "lake/gpu/date=2026-01-15"))).toEqual([]);
  expect(await readdir(join(folder, "copy/gpu/date=2026-01-15"))).toHaveLength(1);
});

test("a sink's parts come together to an address again", () => {
  expect(addressOf("s3", "//b/p q", { endpoint: "http://h:1", region: undefined })).toBe(
    "s3://b/p%20q?endpoint=http%3A%2F%2Fh%3A1",
  );
});

test("a folder that cannot be written fails at the start, not at the first roll", async () => {
  await expect(openSink("parquet:/proc/gpulse-lake", context)).rejects.toMatchObject({
    code: "FILES_FAILED",
  });
});
