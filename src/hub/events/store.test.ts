/** Tests of the timeline with restarts, duplicates and excessive load, and of the events derived from frames. */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { parseSelector } from "../../query/parse/parse.ts";
import { EventStore } from "./store.ts";
import { DeviceChangeWatch } from "./device-watch.ts";
import { StateMap } from "../../base/state/state-map.ts";
import type { NewEvent } from "./event.ts";

let dataDir = "";
let nowMs = 1_000_000_000_000;
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-events-"));
  nowMs = 1_000_000_000_000;
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const open = (maxEvents?: number): EventStore =>
  new EventStore({
    dataDir,
    retentionMs: 3_600_000,
    trustedNowMs: () => nowMs,
    log: silentLog,
    ...(maxEvents === undefined ? {} : { maxEvents }),
  });
const event = (title: string, changes: Partial<NewEvent> = {}): NewEvent => ({
  timeMs: nowMs,
  kind: "annotation",
  severity: "info",
  title,
  labels: {},
  ...changes,
});
const all = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 1_000 };
const titles = (book: EventStore, query: Partial<typeof all> & object = {}): string[] =>
  book.list({ ...all, ...query }).events.map(({ title }) => title);

test("events are kept in the order of their time, over a restart too", () => {
  const book = open();
  book.add(event("second", { timeMs: nowMs }));
  book.add(event("first", { timeMs: nowMs - 5_000 }));
  book.add(event("third", { timeMs: nowMs }));
  expect(titles(book)).toEqual(["first", "second", "third"]);
  book.close();
  const again = open();
  expect(titles(again)).toEqual(["first", "second", "third"]);
  expect(again.add(event("fourth"))?.id).toBe("4");
});

test("an event reported twice is kept once, over a restart too", () => {
  const book = open();
  expect(book.add(event("a", { key: "k" }))?.title).toBe("a");
  expect(book.add(event("b", { key: "k" }))).toBeUndefined();
  book.close();
  const again = open();
  expect(again.add(event("c", { key: "k" }))).toBeUndefined();
  expect(titles(again)).toEqual(["a"]);
});

test("a list is cut to a time, kinds, labels and the newest so many", () => {
  const book = open();
  book.add(event("old", { timeMs: nowMs - 60_000, endMs: nowMs - 30_000 }));
  book.add(event("xid", { kind: "xid", labels: { host: "a", xid: "79" } }));
  book.add(event("other", { kind: "xid", labels: { host: "b" } }));
  expect(titles(book, { fromMs: nowMs - 40_000, toMs: nowMs - 1 })).toEqual(["old"]);
  expect(titles(book, { fromMs: nowMs - 20_000 })).toEqual(["xid", "other"]);
  expect(
    book
      .list({ ...all, kinds: ["xid"], matchers: [parseSelector('{host=~"a|c"}')] })
      .events.map(({ title }) => title),
  ).toEqual(["xid"]);
  expect(book.list({ ...all, limit: 1 })).toMatchObject({
    cut: true,
    events: [{ title: "other" }],
  });
});

test("too many and too old go, with their keys, and the file does not grow for ever", () => {
  const book = open(10);
  for (let n = 0; n < 20_000; n++) book.add(event(`event ${n}`, { key: `k${n}` }));
  expect(titles(book).at(0)).toBe("event 19990");
  expect(book.has("k3")).toBe(false);
  expect(statSync(path.join(dataDir, "events", "events.log")).size).toBeLessThan(2_000_000);
  nowMs += 2 * 3_600_000;
  book.add(event("new"));
  expect(titles(book)).toEqual(["new"]);
});

test("an event with too many words is cut, not refused", () => {
  const labels = Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [`l${n}`, "x".repeat(900)]),
  );
  const kept = open().add(event("t".repeat(5_000), { text: "y".repeat(90_000), labels }));
  expect(JSON.stringify(kept).length).toBeLessThan(30_000);
});

const device = (changes: Partial<Device> = {}): Device => ({
  uuid: "GPU-1234567890",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
  driver: "580.1",
  ...changes,
});

function frame(one: Device, readings: { up?: number; xid?: readonly [number, number?] }): Delivery {
  const builder = new LayoutBuilder();
  const values: number[] = [];
  if (readings.up !== undefined) {
    builder.add(gpu.up, deviceLabels(one, "lab"));
    values.push(readings.up);
  }
  if (readings.xid !== undefined) {
    builder.add(gpu.xidErrors, deviceLabels(one, "lab", { xid: "31" }));
    values.push(readings.xid[0]);
    if (readings.xid[1] !== undefined) {
      builder.add(gpu.xidLast, deviceLabels(one, "lab", { xid: "31" }));
      values.push(readings.xid[1]);
    }
  }
  const writer = new FrameWriter(builder.build(), nowMs);
  values.forEach((value, slot) => writer.set(slot, value));
  return { frame: writer.finish(), source: "s", tier: "fast", freshForMs: 5_000, devices: [one] };
}

function watching(): { book: EventStore; watch: DeviceChangeWatch; close(): void } {
  const book = open();
  const watch = new DeviceChangeWatch({ dataDir, events: book, hostName: "lab", log: silentLog });
  return {
    book,
    watch,
    close: () => {
      watch.close();
      book.close();
    },
  };
}

test("a GPU that appears, is lost, comes back and has another driver is reported once each", () => {
  const first = watching();
  for (const up of [1, 1, 0, 0, 1]) first.watch.take(frame(device(), { up }));
  first.watch.take(frame(device({ driver: "590.2" }), { up: 1 }));
  const reported = [
    "NVIDIA H200 GPU 0 on lab (GPU-12345678) was detected",
    "NVIDIA H200 GPU 0 on lab (GPU-12345678) does not respond",
    "NVIDIA H200 GPU 0 on lab (GPU-12345678) responds again",
    "NVIDIA H200 GPU 0 on lab (GPU-12345678) has a new driver: 590.2 after 580.1",
  ];
  expect(titles(first.book)).toEqual(reported);
  first.close();
  const again = watching();
  again.watch.take(frame(device({ driver: "590.2" }), { up: 1 }));
  expect(titles(again.book)).toEqual(reported);
});

test("an XID is an event at its own time, once, whatever restarts in between", () => {
  const first = watching();
  first.watch.take(frame(device(), { up: 1, xid: [1, nowMs / 1_000 - 100] }));
  first.watch.take(frame(device(), { up: 1, xid: [1, nowMs / 1_000 - 100] }));
  first.watch.take(frame(device(), { up: 1, xid: [3, nowMs / 1_000] }));
  first.close();
  const again = watching();
  again.watch.take(frame(device(), { up: 1, xid: [3, nowMs / 1_000] }));
  const xids = again.book.list({ ...all, kinds: ["xid"] }).events;
  expect(xids.map(({ timeMs, title }) => [nowMs - timeMs, title.slice(-16)])).toEqual(
    [
      [100_000, "12345678): XID 31"],
      [0, " XID 31, 2 times"],
    ].map(([age, end]) => [age, String(end).slice(-16)]),
  );
});

test("a count without a time is reported only when it grows", () => {
  const { watch, book } = watching();
  for (const count of [5, 5, 6]) watch.take(frame(device(), { xid: [count] }));
  expect(book.list({ ...all, kinds: ["xid"] }).events.length).toBe(1);
});

test("GPUs of two hosts with one uuid come and go apart", () => {
  const here = watching();
  const { watch, book } = here;
  const of = (host: string, up: number): Delivery => ({ ...frame(device(), { up }), host });
  for (const [host, up] of [
    ["a", 1],
    ["b", 1],
    ["a", 0],
    ["b", 1],
    ["a", 0],
    ["b", 1],
  ] as const)
    watch.take(of(host, up));
  expect(titles(book)).toEqual([
    "NVIDIA H200 GPU 0 on a (GPU-12345678) was detected",
    "NVIDIA H200 GPU 0 on b (GPU-12345678) was detected",
    "NVIDIA H200 GPU 0 on a (GPU-12345678) does not respond",
  ]);
  here.close();
});

test("devices of an earlier version, remembered by uuid alone, are no news after the upgrade", () => {
  const file = path.join(dataDir, "events", "devices.state");
  const earlier = new StateMap(file, { log: silentLog, parse: (value) => value as object });
  earlier.put(device().uuid, {
    model: "NVIDIA H200",
    driver: "580.1",
    host: "lab",
    gpu: "0",
    isUp: true,
  });
  earlier.close();
  const here = watching();
  const { watch, book } = here;
  watch.take(frame(device(), { up: 1 }));
  expect(titles(book)).toEqual([]);
  watch.take(frame(device(), { up: 0 }));
  expect(titles(book)).toHaveLength(1);
  here.close();
});
