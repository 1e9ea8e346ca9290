import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diffSnapshots } from "./diff.ts";
import { machineAt, serverTree, twoH200, writeTree } from "./fixture.ts";
import type { GpuFacts, GpuReadings, Snapshot, SnapshotFacts } from "./snapshot.ts";
import { takeSnapshot } from "./take.ts";

let before: Snapshot;
let root = "";
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), "gpulse-diff-"));
  await writeTree(root, serverTree);
  const machine = machineAt(root);
  before = await takeSnapshot({ machine, gpus: twoH200(), host: "n", nowMs: 1e12, version: "1" });
});
afterAll(() => rm(root, { recursive: true }));

const withFacts = (changes: Partial<SnapshotFacts>): Snapshot => ({
  ...before,
  facts: { ...before.facts, ...changes },
});
const withGpu = (changes: Partial<GpuFacts>): Snapshot =>
  withFacts({
    gpus: before.facts.gpus.map((gpu, at) => (at === 0 ? { ...gpu, ...changes } : gpu)),
  });
const withReadings = (changes: Partial<GpuReadings>, of: Snapshot = before): Snapshot => ({
  ...of,
  readings: {
    ...of.readings,
    gpus: of.readings.gpus.map((gpu, at) => (at === 0 ? { ...gpu, ...changes } : gpu)),
  },
});
const sentences = (after: Snapshot, from: Snapshot = before): string[] =>
  diffSnapshots(from, after).changes.map(({ sentence }) => sentence);

test("the same system is the same, whenever it was looked at", () => {
  const later = { ...structuredClone(before), takenAt: "2027-01-01T00:00:00.000Z" };
  expect(diffSnapshots(before, later)).toEqual({
    verdict: "same",
    sentence: "The system is the same, and nothing else was on its GPUs.",
    changes: [],
    unproven: [],
    notes: [],
  });
});

test.each<[string, () => Snapshot, string]>([
  ["driver", () => withGpu({ driver: "590.1" }), "GPU 0: driver: 580.95.05 → 590.1."],
  ["power limit", () => withGpu({ powerLimitWatts: 500 }), "GPU 0: power limit: 700 W → 500 W."],
  ["ECC mode", () => withGpu({ eccEnabled: false }), "GPU 0: ECC: on → off."],
  [
    "PCIe width of card and slot",
    () =>
      withGpu({
        pcie: { ...before.facts.gpus[0]?.pcie, widthMax: 8, bandwidthMaxBytesPerSecond: 1 },
      }),
    "GPU 0: PCIe width: x16 → x8.",
  ],
  [
    "clocks of a GPU",
    () => withGpu({ clocks: { maxHertz: { graphics: 1.5e9, memory: 3.201e9 } } }),
    "GPU 0: highest graphics clock: 1980 MHz → 1500 MHz.",
  ],
  [
    "clocks asked for",
    () =>
      withGpu({
        clocks: {
          maxHertz: { graphics: 1.98e9, memory: 3.201e9 },
          applicationHertz: { graphics: 1e9 },
        },
      }),
    "GPU 0: graphics clock asked for: not told → 1000 MHz.",
  ],
  [
    "frequency policy of the processor",
    () =>
      withFacts({
        processor: {
          ...before.facts.processor,
          frequency: { ...before.facts.processor.frequency, governor: "powersave" },
        },
      }),
    "Processor frequency governor: performance → powersave.",
  ],
  [
    "container memory limit",
    () => withFacts({ container: { ...before.facts.container, memoryLimitBytes: 2 ** 34 } }),
    "Container memory limit: none → 16 GiB.",
  ],
  [
    "peer access",
    () => withFacts({ p2p: { ...before.facts.p2p, "GPU-a": { "GPU-b": false } } }),
    "GPU 0: access to GPU 1: yes → no.",
  ],
  [
    "kernel",
    () => withFacts({ os: { ...before.facts.os, kernel: "6.9" } }),
    "Kernel: 6.8.0-test → 6.9.",
  ],
  ["host", () => ({ ...before, host: "other" }), "These are two machines: n and other."],
  ["a lost GPU", () => withReadings({ up: false }), "GPU 0 (GPU-a) does not answer any more."],
])("finds a changed %s, and only that", (_, after, sentence) => {
  const diff = diffSnapshots(before, after());
  expect([diff.verdict, diff.changes.map((change) => change.sentence)]).toEqual([
    "changed",
    [sentence],
  ]);
});

test("a missing GPU is one change, and so is a new one", () => {
  const { gpus, p2p } = before.facts;
  const one: Snapshot = {
    ...withFacts({ gpus: gpus.slice(0, 1), p2p: { "GPU-a": {} } }),
    readings: { ...before.readings, gpus: before.readings.gpus.slice(0, 1) },
  };
  expect(Object.keys(p2p)).toHaveLength(2);
  expect(sentences(one)).toEqual(["GPU 1 NVIDIA H200 (GPU-b) is missing."]);
  expect(sentences(before, one)).toEqual(["GPU 1 NVIDIA H200 (GPU-b) is new."]);
});

test("another order of the same GPUs is no change, and is said", () => {
  const swapped: Snapshot = {
    ...withFacts({ gpus: before.facts.gpus.toReversed() }),
    readings: {
      ...before.readings,
      gpus: before.readings.gpus.map((gpu) => ({ ...gpu, index: 1 - gpu.index })).toReversed(),
    },
  };
  const { verdict, notes } = diffSnapshots(before, swapped);
  expect(verdict).toBe("same");
  expect(notes).toEqual([
    "The GPUs are numbered in another order: they are the same by their uuids.",
  ]);
});

test("another process is another load, also where only their number is told", () => {
  const process = {
    uuid: "GPU-a",
    pid: 4_711,
    name: "python3",
    pod: "train-0",
    memoryBytes: 2 ** 30,
  };
  const named: Snapshot = { ...before, readings: { ...before.readings, processes: [process] } };
  const diff = diffSnapshots(before, named);
  expect(diff.verdict).toBe("loaded");
  expect(diff.changes).toMatchObject([
    {
      kind: "process",
      sentence: "GPU 0: process 4711 python3 (train-0, 1 GiB) is there now and was not before.",
    },
  ]);
  expect(sentences(before, named)[0]).toContain("was there before and is gone");
  expect(diffSnapshots(before, withReadings({ processes: 2 }))).toMatchObject({
    verdict: "loaded",
  });
  const cut = {
    ...named,
    readings: { ...named.readings, processes: [{ ...process, name: "python" }] },
  };
  expect(sentences(cut, named)).toEqual([]);
  const reused = {
    ...named,
    readings: { ...named.readings, processes: [{ ...process, name: "nginx" }] },
  };
  expect(sentences(reused, named)).toHaveLength(2);
});

test("memory and power are compared with thresholds", () => {
  const used = before.readings.gpus[0]?.memoryUsedBytes ?? 0;
  const verdictOf = (changes: Partial<GpuReadings>, thresholds = {}) =>
    diffSnapshots(before, withReadings(changes), { memoryBytes: 256 * 2 ** 20, ...thresholds })
      .verdict;
  expect(verdictOf({ memoryUsedBytes: used + 256 * 2 ** 20 })).toBe("same");
  expect(verdictOf({ memoryUsedBytes: used + 257 * 2 ** 20 })).toBe("loaded");
  expect(verdictOf({ memoryUsedBytes: used + 2 ** 20 }, { memoryBytes: 0 })).toBe("loaded");
  // A tenth of the limit of 700 W.
  expect(verdictOf({ powerWatts: 76 + 70 })).toBe("same");
  expect(verdictOf({ powerWatts: 76 + 71 })).toBe("loaded");
  expect(verdictOf({ powerWatts: 76 + 30 }, { powerWatts: 20 })).toBe("loaded");
  expect(verdictOf({ powerWatts: 700, powerKind: "chip" })).toBe("same");
});

test("a changed fact weighs more than a load, and both are told", () => {
  const both = withReadings({ powerWatts: 500 }, withGpu({ driver: "1" }));
  const { verdict, sentence } = diffSnapshots(before, both);
  expect([verdict, sentence]).toEqual([
    "changed",
    "The system changed: 1 fact differs, and something else was on a GPU (1 sign).",
  ]);
});

const link = (pcieGeneration: number, pcieWidth: number, utilizationRatio: number) =>
  withReadings({ pcieGeneration, pcieWidth, utilizationRatio });
test.each<[string, Snapshot | (() => Snapshot), () => Snapshot, string]>([
  ["trained down at idle", () => link(5, 16, 0.9), () => link(1, 16, 0), "same"],
  ["trained down at idle, width too", () => link(5, 16, 0.9), () => link(1, 8, 0), "same"],
  ["trained up again", () => link(1, 16, 0), () => link(5, 16, 0.4), "same"],
  ["narrower under load", () => link(5, 16, 0.9), () => link(5, 8, 0.9), "changed"],
  ["slower under load", () => link(5, 16, 0.9), () => link(3, 16, 0.9), "changed"],
  ["narrower, both idle and equally slow", () => link(1, 16, 0), () => link(1, 8, 0), "changed"],
  [
    "slow at idle before, narrow under load after",
    () => link(1, 16, 0),
    () => link(5, 8, 0.9),
    "changed",
  ],
])("a PCIe link %s is %s", (_, was, is, verdict) => {
  const first = typeof was === "function" ? was() : was;
  expect(diffSnapshots(first, is()).verdict).toBe(verdict);
});

test("what could not be read just then is neither the same nor changed; what is never told any more is changed", () => {
  const { eccEnabled: _, ...without } = before.facts.gpus[0] ?? { uuid: "" };
  const gone = withFacts({ gpus: [without as GpuFacts, ...before.facts.gpus.slice(1)] });
  const because = (reason: string): Snapshot => ({
    ...gone,
    missing: [{ fact: "gpus.GPU-a.eccEnabled", reason }],
  });
  const asleep = diffSnapshots(before, because("asleep"));
  expect([asleep.verdict, asleep.unproven.length]).toEqual(["same", 1]);
  expect(asleep.sentence).toContain("1 fact could not be compared");
  expect(sentences(because("unsupported"))).toEqual(["GPU 0: ECC: on → not told."]);
});

test("a restart and swapped files are notes", () => {
  const again: Snapshot = {
    ...before,
    takenAt: "1999-01-01T00:00:00.000Z",
    readings: { ...before.readings, host: { bootId: "another" } },
  };
  const { verdict, notes } = diffSnapshots(before, again);
  expect([verdict, notes.length]).toEqual(["same", 2]);
});

test("memory that a hypervisor lends and takes back is a note; a bank that is gone is a change", () => {
  const scaled = (share: number): Snapshot => {
    const { totalBytes = 0, numaNodes = [], ...rest } = before.facts.memory;
    return withFacts({
      memory: {
        ...rest,
        totalBytes: totalBytes * share,
        numaNodes: numaNodes.map((one) => ({ ...one, memoryBytes: one.memoryBytes * share })),
      },
    });
  };
  expect(diffSnapshots(before, scaled(0.995))).toMatchObject({ verdict: "same", changes: [] });
  expect(diffSnapshots(before, scaled(0.995)).notes).toHaveLength(2);
  expect(diffSnapshots(before, scaled(0.5))).toMatchObject({ verdict: "changed" });
});
