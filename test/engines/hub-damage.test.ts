// A hub with damaged files starts, reports what is lost, and serves the rest.

import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";

import { compress } from "snappyjs";

import { WriteClient } from "../../bench/remote-write.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { encodeWriteRequest } from "../../src/formats/remote-write/encode.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import { labelSet } from "../../src/model/labels.ts";
import { histogramFor, histogramText, sampleText } from "../crash/histogram.ts";
import { batchMs, batchValue } from "../store/batches.ts";
import { select } from "./select-all.ts";

const PARTS = 3;
const SERIES = 20;
const BATCHES = 30;

const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

const sample = (part: number, batch: number): number => part * BATCHES + batch;

/** Every fourth series is a native histogram. */
const isHistogram = (series: number): boolean => series % 4 === 3;

function requestOf(number: number): Buffer {
  const builder = new BatchBuilder();
  for (let series = 0; series < SERIES; series++) {
    const place = builder.series(labelSet({ __name__: "kept", series: String(series) }));
    const value = batchValue(number, series);
    if (!isHistogram(series)) builder.add(place, batchMs(number), value);
    else builder.addHistogram(place, batchMs(number), histogramFor(value, number + 1));
  }
  return Buffer.from(compress(encodeWriteRequest(builder.finish())));
}

async function writePart(hub: RunningHub, part: number): Promise<void> {
  const client = new WriteClient(hub.url);
  for (let batch = 0; batch < BATCHES; batch++)
    expect((await client.send(requestOf(sample(part, batch)))).status).toBe(204);
  client.close();
}

/** Writes three parts, each to its own log segment or its own block. */
async function fill(where: "wal" | "blocks"): Promise<string> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-hub-damage-"));
  cleanUp.push(() => rmSync(dataDir, { recursive: true, force: true }));
  for (let part = 0; part < PARTS; part++) {
    const hub = await startHub({ dataDir });
    await writePart(hub, part);
    if (where === "blocks") {
      // A snapshot seals first.
      const sealed = await fetch(`${hub.url}/api/v1/admin/tsdb/snapshot`, { method: "POST" });
      expect(sealed.status).toBe(200);
      rmSync(path.join(dataDir, "snapshots"), { recursive: true });
    }
    await hub.kill();
  }
  return dataDir;
}

/** The number of remaining samples per part; every remaining one must be correct. */
async function countParts(hub: RunningHub): Promise<number[]> {
  const counts = Array.from({ length: PARTS }, () => 0);
  for (const { metric, values = [], histograms = [] } of await select(hub.url, "kept[100y]")) {
    for (const [timeS, value] of [...values, ...histograms]) {
      const number = Math.round((timeS * 1000 - batchMs(0)) / 1000);
      const series = Number(metric["series"]);
      const want = batchValue(number, series);
      expect(sampleText(value)).toBe(
        isHistogram(series) ? histogramText(want, number + 1) : String(want),
      );
      const part = Math.floor(number / BATCHES);
      counts[part] = (counts[part] ?? 0) + 1;
    }
  }
  return counts;
}

const whole = SERIES * BATCHES;

function flip(file: string, share: number, end: number): void {
  const bytes = readFileSync(file);
  const at = Math.floor(end * share);
  bytes[at] = (bytes[at] ?? 0) ^ 0x40;
  writeFileSync(file, bytes);
}

const written = (file: string): number => readFileSync(file).findLastIndex((byte) => byte !== 0);

const HARMS = [
  { name: "cut", harm: (file: string) => truncateSync(file, Math.floor(written(file) / 2)) },
  { name: "flipped", harm: (file: string) => flip(file, 0.5, written(file)) },
  { name: "missing", harm: (file: string) => rmSync(file) },
];
const CASES = (["wal", "blocks"] as const).flatMap((where) =>
  HARMS.map((how) => ({ where, ...how })),
);

test.for(CASES)("a file of $where that is $name", async ({ where, harm }) => {
  const dataDir = await fill(where);
  const folder = path.join(dataDir, where);
  const files = readdirSync(folder)
    .filter((file) => /^\d+\.(wal|block)$/.test(file))
    .filter((file) => written(path.join(folder, file)) > 0)
    .sort();
  expect(files.length).toBeGreaterThanOrEqual(PARTS);
  harm(path.join(folder, files[1] ?? ""));

  const hub = await startHub({ dataDir });
  cleanUp.push(() => hub.kill());
  const [first = 0, second = 0, third = 0] = await countParts(hub);
  expect([first, third]).toEqual([whole, whole]);
  expect(second).toBeLessThan(whole);
  await expect.poll(() => hub.process.output()).toMatch(/error .*(lost|missing|cannot be read)/);
  const runtime = await fetch(`${hub.url}/api/v1/status/runtimeinfo`);
  const { data } = (await runtime.json()) as { data: { corruptionCount: number } };
  expect(data.corruptionCount).toBeGreaterThan(0);
  await writePart(hub, PARTS);
});
