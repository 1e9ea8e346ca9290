import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diffSnapshots } from "./diff.ts";
import { machineAt, serverTree, twoH200, writeTree } from "../../../test/fixtures/runs/snapshot.ts";
import type {
  GpuFacts,
  GpuReadings,
  KernelFacts,
  Snapshot,
  SnapshotFacts,
} from "../../machine/snapshot.ts";
import { takeSnapshot } from "./take.ts";

let before: Snapshot;
let root = "";
beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), "gpulse-diff-"));
  await writeTree(root, serverTree);
  const machine = machineAt(root);
  const reported = { versions: { cuda_driver: "13.0" }, gpus: new Map(), processes: [] };
  before = await takeSnapshot({
    machine,
    gpus: twoH200(),
    host: "n",
    nowMs: 1e12,
    version: "1",
    driverFacts: reported,
  });
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
    "clocks requested",
    () =>
      withGpu({
        clocks: {
          maxHertz: { graphics: 1.98e9, memory: 3.201e9 },
          applicationHertz: { graphics: 1e9 },
        },
      }),
    "GPU 0: graphics clock requested: not reported → 1000 MHz.",
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
  ["a lost GPU", () => withReadings({ up: false }), "GPU 0 (GPU-a) does not respond."],
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

test("another process is another load, also where only their number is reported", () => {
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

test("a changed fact weighs more than a load, and both are reported", () => {
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

test("what could not be read just then is neither the same nor changed; what is never reported any more is changed", () => {
  const { eccEnabled: _, ...without } = before.facts.gpus[0] ?? { uuid: "" };
  const gone = withFacts({ gpus: [without as GpuFacts, ...before.facts.gpus.slice(1)] });
  const because = (reason: string): Snapshot => ({
    ...gone,
    missing: [{ fact: "gpus.GPU-a.eccEnabled", reason }],
  });
  const asleep = diffSnapshots(before, because("asleep"));
  expect([asleep.verdict, asleep.unproven.length]).toEqual(["same", 1]);
  expect(asleep.sentence).toContain("1 fact could not be compared");
  expect(sentences(because("unsupported"))).toEqual(["GPU 0: ECC: on → not reported."]);
});

/** A snapshot of the same machine while its GPU sleeps: only the readings show it, no fact has a noted reason. */
test("a GPU asleep at one of the snapshots is not comparable, with the reason, and changes nothing", () => {
  const { uuid, vendor, model, simulated } = before.facts.gpus[0] ?? bug();
  const asleep: Snapshot = withReadings(
    { asleep: true },
    withFacts({
      gpus: before.facts.gpus.map((gpu, at) =>
        at === 0 ? { uuid, vendor, model, simulated, clocks: { maxHertz: {} }, pcie: {} } : gpu,
      ),
      p2p: { "GPU-b": {} },
      p2pLinks: {},
    }),
  );
  for (const diff of [diffSnapshots(before, asleep), diffSnapshots(asleep, before)]) {
    expect([diff.verdict, diff.changes]).toEqual(["same", []]);
    expect(diff.unproven.length).toBeGreaterThan(10);
    expect(
      new Set(diff.unproven.map(({ sentence }) => /: ([^:]*: [^:]*)$/.exec(sentence)?.[1])),
    ).toEqual(new Set(["not comparable: the GPU was asleep."]));
    expect(diff.sentence).toMatch(
      /^What can be compared is the same, .* \d+ facts could not be compared/,
    );
  }
});

test.each([
  ["denied", "SMT, second snapshot: not readable: permission denied."],
  ["failed", "SMT, second snapshot: not readable: the read failed."],
  ["not-read", "SMT, second snapshot: not read: no reading had arrived."],
])("a fact that is %s in one snapshot is not comparable", (reason, sentence) => {
  const { smt: _, ...kernel } = before.facts.kernel ?? bug();
  const unread: Snapshot = {
    ...withFacts({ kernel }),
    missing: [...before.missing, { fact: "kernel.smt", reason }],
  };
  const diff = diffSnapshots(before, unread);
  expect([diff.verdict, diff.unproven.map((one) => one.sentence)]).toEqual(["same", [sentence]]);
});

test("denied against absent is no difference", () => {
  const { smt: _, ...kernel } = before.facts.kernel ?? bug();
  const absent = withFacts({ kernel });
  const denied = {
    ...absent,
    missing: [...before.missing, { fact: "kernel.smt", reason: "denied" }],
  };
  const diff = diffSnapshots(absent, denied);
  expect([diff.verdict, diff.changes, diff.unproven]).toEqual(["same", [], []]);
});

test("a reason noted for a whole group holds for what is in it", () => {
  const unread: Snapshot = {
    ...withFacts({ storage: [] }),
    missing: [...before.missing, { fact: "storage", reason: "denied" }],
  };
  const diff = diffSnapshots(before, unread);
  expect([diff.verdict, diff.changes]).toEqual(["same", []]);
  expect(diff.unproven.map((one) => one.path)).toContain("storage.nvme0n1.kind");
});

test("a file made before a fact was recorded is not comparable in it, in either direction", () => {
  const { kernel: _, p2pLinks: __, ...facts } = before.facts;
  const old: Snapshot = {
    ...before,
    facts,
    readings: {
      ...before.readings,
      gpus: before.readings.gpus.map(({ errors: ___, ...gpu }) => gpu),
    },
  };
  for (const diff of [diffSnapshots(old, before), diffSnapshots(before, old)]) {
    expect([diff.verdict, diff.changes]).toEqual(["same", []]);
    expect(diff.unproven.length).toBeGreaterThan(5);
    for (const { sentence } of diff.unproven)
      expect(sentence).toMatch(/not recorded in that file\.$/);
  }
});

test.each<[string, Partial<KernelFacts>, string]>([
  [
    "sysctl",
    { sysctl: { "kernel.numa_balancing": "0", "vm.swappiness": "60" } },
    "Sysctl kernel.numa_balancing: 1 → 0.",
  ],
  ["SMT control", { smt: "off" }, "SMT: on → off."],
  ["clock source", { clocksource: "hpet" }, "Clock source: tsc → hpet."],
  [
    "kernel command line",
    { commandLine: "root=/dev/nvme0n1p2 ro mitigations=off" },
    "Kernel command line: without quiet, with mitigations=off.",
  ],
  [
    "module parameter",
    { modules: { nvidia: { EnableResizableBar: "1", NvLinkDisable: "0" } } },
    "Parameter EnableResizableBar of the kernel module nvidia: 0 → 1.",
  ],
  ["driver unloaded", { modules: {} }, "Kernel module nvidia: loaded → not loaded."],
])("a changed %s is one change", (_, kernel, sentence) => {
  const after = withFacts({ kernel: { ...before.facts.kernel, ...kernel } });
  expect(sentences(after)).toEqual([sentence]);
});

test.each<[string, number, number, string | undefined]>([
  ["ecc.corrected", 2, 5, "GPU 0: 3 new corrected ECC errors (2 → 5)."],
  ["ecc.uncorrected", 0, 1, "GPU 0: 1 new uncorrected ECC error (0 → 1)."],
  [
    "ecc.uncorrected",
    7,
    1,
    "GPU 0: 1 new uncorrected ECC error; the counter started again (7 → 1).",
  ],
  ["ecc.uncorrected", 7, 0, undefined],
  ["ecc.corrected", 4, 4, undefined],
  ["xid", 0, 2, "GPU 0: 2 new XID errors (0 → 2)."],
])("%s from %i to %i between two snapshots", (name, was, is, sentence) => {
  const first = withReadings({ errors: { [name]: was } });
  const second = withReadings({ errors: { [name]: is } });
  const diff = diffSnapshots(first, second);
  expect(diff.changes.map((change) => change.sentence)).toEqual(
    sentence === undefined ? [] : [sentence],
  );
  expect(diff.verdict).toBe(sentence === undefined ? "same" : "changed");
});

test("an error that both counters saw is one finding; lost at a restart, the lifetime counter has it", () => {
  const at = (ecc: number, lifetime: number): Snapshot =>
    withReadings({ errors: { "ecc.uncorrected": ecc, "eccLifetime.uncorrected": lifetime } });
  expect(sentences(at(1, 11), at(0, 10))).toEqual(["GPU 0: 1 new uncorrected ECC error (0 → 1)."]);
  expect(sentences(at(0, 6), at(3, 5))).toEqual([
    "GPU 0: 1 new uncorrected ECC error over the board's life (5 → 6).",
  ]);
});

test("a P2P link that lost bandwidth is a change", () => {
  const slow = { via: "pcie", bandwidthBytesPerSecond: 31.5e9, basis: "pcie" };
  const after = withFacts({ p2pLinks: { ...before.facts.p2pLinks, "GPU-a": { "GPU-b": slow } } });
  expect(sentences(after)).toEqual(["GPU 0: P2P bandwidth to GPU 1: 63 GB/s → 31.5 GB/s."]);
});

function bug(): never {
  throw new Error("BUG: the fixture has it");
}

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

test("a GPU whose uuid an earlier version made without the machine is the same GPU", () => {
  const named = (first: string, second: string): Snapshot =>
    JSON.parse(
      JSON.stringify(before).replaceAll("GPU-a", first).replaceAll("GPU-b", second),
    ) as Snapshot;
  const earlier = named("amd-0000:03:00.0", "amd-0000:83:00.0");
  const now = named("amd-0000:03:00.0-3f2a9c01d4e5", "amd-0000:83:00.0-3f2a9c01d4e5");
  expect(diffSnapshots(earlier, now)).toMatchObject({ verdict: "same", changes: [] });
  expect(diffSnapshots(now, earlier)).toMatchObject({ verdict: "same", changes: [] });
  const other = named("amd-0000:03:00.0-3f2a9c01d4e5", "amd-0000:43:00.0-3f2a9c01d4e5");
  const moved = sentences(other, earlier).filter((one) => /is (?:missing|new)/.test(one));
  expect(moved).toHaveLength(2);
});
