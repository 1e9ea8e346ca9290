import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { openStore } from "./store.ts";

const dir = (): string => mkdtempSync(path.join(tmpdir(), "gpulse-frames-"));

function layout(uuids: readonly string[]) {
  const builder = new LayoutBuilder();
  for (const uuid of uuids) builder.add(gpu.power, labelSet({ uuid }));
  return builder.build();
}

const options = (folder: string) => ({
  dir: folder,
  retentionMs: 1e15,
  memoryBytes: 1e6,
  durability: "process" as const,
  log: silentLog,
  nowMs: () => 1e12,
  workerFile: false as const,
  manual: true,
});

test("frames become series with their names; a reading that vanishes ends its series, and so does a layout that loses it", async () => {
  const folder = dir();
  const store = await openStore(options(folder));
  const both = layout(["A", "B"]);
  const frame = (
    of: ReturnType<typeof layout>,
    timeMs: number,
    values: readonly (number | null)[],
  ) => {
    const writer = new FrameWriter(of, timeMs);
    values.forEach((value, slot) => {
      if (value === null) writer.absent(slot, "failed");
      else writer.set(slot, value);
    });
    return store.appendFrame(
      { frame: writer.finish(), source: "sim", tier: "fast" },
      labelSet({ job: "gpulse", uuid: "not this one" }),
    );
  };
  expect(frame(both, 1000, [100, 200])).toMatchObject({ stored: 2 });
  expect(frame(both, 2000, [101, null])).toMatchObject({ stored: 2 });
  expect(frame(both, 3000, [102, null])).toMatchObject({ stored: 1 });
  expect(frame(layout(["B"]), 4000, [201])).toMatchObject({ stored: 2 });
  const all = await store.select([{ name: "__name__", op: "=", value: gpu.power.name }], 0, 1e12);
  expect(
    all.map(({ labels, column }) => [
      Object.fromEntries(labels),
      [...column.times].map((time, i) =>
        column.stale?.[i] === 1 ? `${time} stale` : `${time} ${column.values[i]}`,
      ),
    ]),
  ).toEqual([
    [
      { __name__: gpu.power.name, job: "gpulse", uuid: "A" },
      ["1000 100", "2000 101", "3000 102", "4000 stale"],
    ],
    [
      { __name__: gpu.power.name, job: "gpulse", uuid: "B" },
      ["1000 200", "2000 stale", "4000 201"],
    ],
  ]);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a reading that vanishes with the very frame that brings another layout ends its series, also when the first comes back", async () => {
  const folder = dir();
  const store = await openStore(options(folder));
  const both = layout(["A", "B"]);
  const frame = (of: ReturnType<typeof layout>, timeMs: number, values: (number | null)[]) => {
    const writer = new FrameWriter(of, timeMs);
    values.forEach((value, slot) => {
      if (value === null) writer.absent(slot, "failed");
      else writer.set(slot, value);
    });
    return store.appendFrame({ frame: writer.finish(), source: "sim", tier: "slow" }, labelSet({}));
  };
  expect(frame(both, 1000, [100, 200])).toMatchObject({ stored: 2 });
  expect(frame(layout(["B", "C"]), 2000, [null, 300])).toMatchObject({ stored: 3 });
  expect(frame(both, 3000, [null, null])).toMatchObject({ stored: 1 });
  const all = await store.select([{ name: "__name__", op: "=", value: gpu.power.name }], 0, 1e12);
  expect(
    all.map(({ column }) => [...column.times].map((time, i) => [time, column.stale?.[i] === 1])),
  ).toEqual([
    [
      [1000, false],
      [2000, true],
    ],
    [
      [1000, false],
      [2000, true],
    ],
    [
      [2000, false],
      [3000, true],
    ],
  ]);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test("frames of a stream take turns at the same instant, and none ends another's series", async () => {
  const folder = dir();
  const store = await openStore(options(folder));
  const layouts = [layout(["A", "B"]), layout(["C"])];
  for (const timeMs of [1000, 2000])
    for (const of of layouts) {
      const writer = new FrameWriter(of, timeMs);
      of.series.forEach((_, slot) => writer.set(slot, timeMs + slot));
      const origin = { frame: writer.finish(), source: "kafka", tier: "stream" };
      expect(store.appendFrame(origin, labelSet({}))).toMatchObject({ stored: of.series.length });
    }
  const { stored } = store.stats().appended;
  await store.endSource("kafka", 3000);
  expect(store.stats().appended.stored).toBe(stored + 3);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test("after an interruption of fifteen seconds those series end that have missed three of their samples", async () => {
  const folder = dir();
  const stoppedMs = Math.floor(Date.now() / 1_000) * 1_000;
  const first = await openStore({ ...options(folder), nowMs: () => stoppedMs });
  // 40 samples: the newest of a series may be the first of a chunk.
  for (const [name, everyMs, count] of [
    ["every_second", 1_000, 40],
    ["first_of_a_chunk", 1_000, 33],
    ["every_ten_seconds", 10_000, 5],
    ["once", 1_000, 1],
  ] as const) {
    const appender = first.appender();
    const ref = appender.ref(labelSet({ __name__: name }));
    for (let at = count - 1; at >= 0; at--) appender.add(ref, stoppedMs - at * everyMs, 1);
    appender.commit();
  }
  expect(first.stats().appended.stored).toBe(79);
  await first.close();
  const wal = path.join(folder, "wal");
  for (const file of readdirSync(wal))
    utimesSync(path.join(wal, file), stoppedMs / 1e3, stoppedMs / 1e3);

  const second = await openStore({ ...options(folder), nowMs: () => stoppedMs });
  expect(second.endInterrupted(stoppedMs + 14_999)).toMatchObject({ stored: 0 });
  expect(second.endInterrupted(stoppedMs + 16_000)).toMatchObject({ stored: 2 });
  const { data } = await second.instant('{__name__=~".+"}', stoppedMs + 16_000);
  const names = data.type === "vector" ? data.samples.map(({ labels }) => labels[0]?.[1]) : [];
  expect(new Set(names)).toEqual(new Set(["every_ten_seconds", "once"]));
  await second.close();
  rmSync(folder, { recursive: true, force: true });
});

test("after a short interruption those series end that have not continued for three of their intervals", async () => {
  const folder = dir();
  const stoppedMs = Math.floor(Date.now() / 1_000) * 1_000;
  const first = await openStore({ ...options(folder), nowMs: () => stoppedMs });
  const write = (
    store: typeof first,
    name: string,
    everyMs: number,
    count: number,
    endMs: number,
  ) => {
    const appender = store.appender();
    const ref = appender.ref(labelSet({ __name__: name }));
    for (let at = count - 1; at >= 0; at--) appender.add(ref, endMs - at * everyMs, 1);
    appender.commit();
  };
  write(first, "continues", 1_000, 40, stoppedMs);
  write(first, "ended", 1_000, 40, stoppedMs);
  write(first, "every_minute", 60_000, 3, stoppedMs);
  write(first, "once", 1_000, 1, stoppedMs);
  await first.close();
  const wal = path.join(folder, "wal");
  for (const file of readdirSync(wal))
    utimesSync(path.join(wal, file), stoppedMs / 1e3, stoppedMs / 1e3);

  const startMs = stoppedMs + 5_000;
  const second = await openStore({ ...options(folder), nowMs: () => startMs });
  expect(second.endInterrupted(startMs)).toMatchObject({ stored: 0 });
  write(second, "continues", 1_000, 1, startMs + 1_000);
  const names = async (atMs: number): Promise<readonly (string | undefined)[]> => {
    const { data } = await second.instant('{__name__=~".+"}', atMs);
    return data.type === "vector"
      ? data.samples.map(({ labels }) => labels[0]?.[1] ?? "").toSorted((a, b) => (a < b ? -1 : 1))
      : [];
  };
  expect(second.endSilent(startMs, 0)).toMatchObject({ stored: 1 });
  expect(await names(startMs + 30_000)).toEqual(["continues", "every_minute", "once"]);
  expect(second.endSilent(startMs, 1)).toMatchObject({ stored: 1 });
  expect(await names(startMs + 60_000)).toEqual(["continues", "every_minute"]);
  expect(second.endSilent(startMs, 2)).toMatchObject({ stored: 1 });
  expect(await names(startMs + 180_000)).toEqual(["continues"]);
  await second.close();
  rmSync(folder, { recursive: true, force: true });
});

test("after an interruption of more than a minute every series that was up to date ends at its last sample", async () => {
  const folder = dir();
  const [hour, minute] = [3_600_000, 60_000];
  const stoppedMs = Math.floor(Date.now() / hour) * hour;
  type OpenStore = Awaited<ReturnType<typeof openStore>>;
  const write = (store: OpenStore, name: string, timeMs: number): void => {
    const appender = store.appender();
    appender.add(appender.ref(labelSet({ __name__: name })), timeMs, 1);
    appender.commit();
  };
  const first = await openStore({ ...options(folder), nowMs: () => stoppedMs });
  write(first, "imported", stoppedMs - hour);
  write(first, "current", stoppedMs - 1_000);
  await first.seal();
  write(first, "current", stoppedMs);
  await first.close();
  const wal = path.join(folder, "wal");
  for (const file of readdirSync(wal))
    utimesSync(path.join(wal, file), stoppedMs / 1e3, stoppedMs / 1e3);

  const second = await openStore({ ...options(folder), nowMs: () => stoppedMs });
  expect(second.endInterrupted(stoppedMs + minute - 1)).toMatchObject({ stored: 0 });
  expect(second.endInterrupted(stoppedMs + hour)).toMatchObject({ stored: 1 });
  write(second, "current", stoppedMs + hour);
  const points = async (query: string) => {
    const { data } = await second.range(query, stoppedMs - hour, stoppedMs + hour, minute);
    return data.type === "matrix" ? data.series.flatMap(({ times }) => [...times]) : [];
  };
  expect(await points("current")).toEqual([stoppedMs, stoppedMs + hour]);
  expect(await points("imported")).toHaveLength(5);
  await second.close();
  rmSync(folder, { recursive: true, force: true });
});
