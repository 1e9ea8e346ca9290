// A gpulse agent that is scraped or remote-written gives what the same agent gives by pushing its frames.

import { afterAll, beforeAll, expect, test } from "vitest";
import { FakeClock } from "../fixtures/fake-clock.ts";
import { scrapeConfig } from "../fixtures/sources/scrape.ts";
import { Collector } from "../../src/agent/collector.ts";
import { silentLog } from "../../src/base/log.ts";
import { FrameAssembly } from "../../src/formats/exporters/assembly.ts";
import { ExporterFrames } from "../../src/formats/exporters/frames.ts";
import { compatNames } from "../../src/formats/compat/tables.ts";
import { partOf, type SampleBatch } from "../../src/formats/samples/batch.ts";
import { type Device, deviceInfoLabels } from "../../src/model/device.ts";
import type { Frame } from "../../src/model/frame.ts";
import { labelSet } from "../../src/model/labels.ts";
import { seriesKey } from "../../src/model/layout.ts";
import { presence } from "../../src/model/presence.ts";
import { openSources } from "../../src/sources/open.ts";
import { ScrapeCache } from "../../src/sources/scrape/loop/scrape-cache.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const clock = new FakeClock(startMs);
let collector: Collector;

/** A minute of eight simulated GPUs and their machine's jobs. */
beforeAll(async () => {
  const context = {
    host: "node-1",
    log: silentLog,
    nowMs: () => clock.nowMs(),
    sysfs: "/sys",
    procfs: "/proc",
  };
  collector = new Collector({
    sources: await openSources(["sim:8?seed=7"], context),
    compat: compatNames,
    intervalMs: 1_000,
    hostName: "node-1",
    procfs: "/proc",
    version: "test",
    clock,
    log: silentLog,
  });
  collector.start();
  await clock.advance(60_400);
});

afterAll(async () => {
  const stopping = collector.stop();
  await clock.advance(10_000);
  await stopping;
});

function scrapePage(accept: string): SampleBatch {
  const { body, contentType } = collector.page(accept);
  const cache = new ScrapeCache(labelSet({ job: "gpulse", instance: "node-1:9400" }));
  const nowMs = clock.nowMs();
  const { error } = cache.takePage(Buffer.from(body), contentType, nowMs, nowMs, scrapeConfig());
  expect(error).toBeUndefined();
  return cache.finish();
}

/** What is there of GPUs, hosts and work; what is absent stands on no page. */
const readingsOf = (frames: readonly Frame[]): Record<string, number> =>
  Object.fromEntries(
    frames
      .flatMap(({ layout, presence: states, values }) =>
        layout.series.flatMap((series, slot) =>
          states[slot] === presence.present
            ? [[seriesKey(series), values[slot] ?? NaN] as const]
            : [],
        ),
      )
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  );

const devicesOf = (devices: readonly Device[]): unknown[] =>
  [...new Map(devices.map((device) => [device.uuid, device])).values()]
    .sort((left, right) => (left.uuid < right.uuid ? -1 : 1))
    .map((device) => deviceInfoLabels(device, "node-1"));

const combined = (
  found: readonly { readonly frame: Frame; readonly devices: readonly Device[] }[],
) => ({
  readings: readingsOf(found.map(({ frame }) => frame)),
  devices: devicesOf(found.flatMap(({ devices }) => devices)),
});

/** The frames that a push sends. */
const pushed = () => combined(collector.latest.at(clock.nowMs()));

const protobuf =
  "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;q=0.5";

test.each(["text/plain", "application/openmetrics-text", protobuf])(
  "a page as %s, with every other exporter's names on it, is read as the frames of a push",
  (accept) => {
    const found = new ExporterFrames().frames(scrapePage(accept));
    expect(found).toMatchObject([{ exporter: "gpulse", isOwn: true }]);
    expect(combined(found)).toEqual(pushed());
    expect(Object.keys(pushed().readings).length).toBeGreaterThan(400);
  },
);

test("the same page, remote-written in parts, is read as the frames of a push", () => {
  const whole = scrapePage("text/plain");
  const assembly = new FrameAssembly();
  const nowMs = clock.nowMs();
  const part = 500;
  for (let from = 0; from < whole.sampleCount; from += part)
    assembly.add(partOf(whole, from, Math.min(from + part, whole.sampleCount)), nowMs);
  const found = [...assembly.ready(nowMs + 10_000)].flatMap(({ frames }) => frames);
  expect(found).toHaveLength(1);
  expect(combined(found)).toEqual(pushed());
});
