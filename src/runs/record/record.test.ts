import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { gpu, type MetricEntry, type Tier } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { systemClock } from "../../base/clock.ts";
import type { PolledSource } from "../../sources/source.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { fixtureRun } from "../../../test/fixtures/runs/runs.ts";
import { OwnTree, runVariable } from "./own-tree.ts";
import { PartialRun, readPartial } from "./partial.ts";
import { ProcessWatch } from "./processes.ts";
import { Recorder } from "./recorder.ts";
import { snapNow, verdictOf } from "./snapshots.ts";
import { TraceLayoutPlans, TraceBuilder, valueIn } from "./trace-builder.ts";
import { WorkCounter } from "./work-counter.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-record-"));
afterAll(() => rmSync(folder, { recursive: true }));

function processFrame(
  timeMs: number,
  ...processes: [pid: number, name: string, mib: number][]
): Frame {
  const builder = new LayoutBuilder();
  builder.add(gpu.processes, labelSet({ uuid: "A" }));
  for (const [pid, process] of processes)
    builder.add(gpu.processMemory, labelSet({ uuid: "A", pid: String(pid), process }));
  const writer = new FrameWriter(builder.build(), timeMs);
  writer.set(0, processes.length);
  processes.forEach(([, , mib], at) => writer.set(at + 1, mib * 2 ** 20));
  return writer.finish();
}

test("a guest in the middle of a run is found with its name and time, the command's own is not", () => {
  const watch = new ProcessWatch(["A"], (pid) => pid === 10);
  watch.see(processFrame(1_000));
  watch.see(processFrame(2_000, [10, "bench", 100]));
  watch.see(processFrame(3_000, [10, "bench", 100], [99, "miner", 300]));
  watch.see(processFrame(4_000, [10, "bench", 100], [99, "miner", 500]));
  watch.see(processFrame(9_000, [77, "later", 1]));
  const foreign = watch.foreign([1_500, 5_000]);
  expect(foreign).toEqual([
    {
      uuid: "A",
      pid: 99,
      name: "miner",
      fromMs: 3_000,
      toMs: 4_000,
      before: false,
      memoryBytes: 500 * 2 ** 20,
    },
  ]);
  const verdict = verdictOf({
    before: undefined,
    after: undefined,
    foreign,
    startedMs: 1_500,
    idleAfter: true,
  });
  expect(verdict.verdict).toBe("loaded");
  expect(verdict.changes[0]?.sentence).toBe(
    "Another process was on the GPU A: miner (pid 99) came at second 1.5 and was last seen at second 2.5 of the run, holding up to 500 MiB.",
  );
});

test("without snapshots and without guests nothing is proved", () => {
  const nothing = { before: undefined, after: undefined, foreign: [], startedMs: 0 };
  expect(verdictOf({ ...nothing, idleAfter: true }).verdict).toBe("unknown");
});

test.runIf(process.platform === "linux")(
  "a grandchild is own, one that left its family is known by its variable, a stranger is not",
  async () => {
    const sleeper = (env: Record<string, string>) =>
      spawn(process.execPath, ["-e", "setTimeout(() => {}, 20000)"], {
        env: { ...process.env, ...env },
      });
    const shell = spawn("sh", ["-c", "sleep 20 & echo $!; wait"]);
    const marked = sleeper({ [runVariable]: "run-1" });
    const stranger = sleeper({});
    let grandchild = 0;
    try {
      grandchild = Number(
        await new Promise<Buffer>((resolve) => void shell.stdout.once("data", resolve)),
      );
      // Its parent is this process, which is a root: only a process elsewhere in the tree can be foreign.
      const tree = new OwnTree("/proc", "run-1");
      expect(tree.has(grandchild)).toBe(true);
      const elsewhere = new OwnTree("/proc", "run-1");
      expect(elsewhere.has(1)).toBe(false);
      expect(elsewhere.has(marked.pid ?? 0)).toBe(true);
    } finally {
      for (const child of [shell, marked, stranger]) child.kill("SIGKILL");
      if (grandchild > 0) process.kill(grandchild, "SIGKILL");
    }
  },
);

test("rows of one instant are one row, whichever schedule they come from, and late ones find their place", () => {
  const builder = new TraceBuilder();
  builder.add("A", 100, ["p"], () => 1);
  builder.add("A", 300, ["p"], () => 3);
  builder.add("A", 100, ["e"], () => 9);
  builder.add("A", 200, ["p"], () => Number.NaN);
  const gpuTrace = builder.build().get("A");
  expect([...(gpuTrace?.timeMs ?? [])]).toEqual([100, 200, 300]);
  expect([...(gpuTrace?.columns.get("p") ?? [])]).toEqual([1, Number.NaN, 3]);
  expect([...(gpuTrace?.columns.get("e") ?? [])]).toEqual([9, Number.NaN, Number.NaN]);
});

test("only GPUs the command saw are recorded, and an absent reading is none", () => {
  const builder = new LayoutBuilder();
  for (const uuid of ["A", "B"]) builder.add(gpu.power, labelSet({ uuid }));
  const frame = new FrameWriter(builder.build(), 5).finish();
  const plans = new TraceLayoutPlans(["A"]).of(frame.layout);
  expect(plans).toEqual([{ uuid: "A", slots: [0], columns: ["gpu_power_watts"] }]);
  expect(valueIn(frame, 0)).toBeNaN();
});

test("what was flushed before a kill comes back, without the line that was cut off", () => {
  const target = path.join(folder, "a.gpulserun.partial");
  const partial = new PartialRun(target);
  const { run } = fixtureRun();
  partial.describe({ ...run, complete: false });
  const columns = ["gpu_power_watts", "gpu_energy_joules_total"];
  partial.row("A", run.startedMs, columns, (at) => [10, Number.NaN][at] ?? 0);
  partial.row("A", run.startedMs + 100, columns, (at) => [20, 7][at] ?? 0);
  partial.output(Buffer.from("hello\n"));
  partial.flush();
  appendFileSync(path.join(target, "trace.jsonl"), `[0,${run.startedMs + 200},3`);
  const left = readPartial(target);
  expect(left.run.complete).toBe(false);
  expect([...(left.trace.get("A")?.columns.get("gpu_power_watts") ?? [])]).toEqual([10, 20]);
  expect([...(left.trace.get("A")?.columns.get("gpu_energy_joules_total") ?? [])]).toEqual([
    Number.NaN,
    7,
  ]);
  expect(Buffer.from(left.output).toString()).toBe("hello\n");
  expect(() => new PartialRun(target)).toThrow("gpulse runs recover");
  partial.close();
  partial.remove();
  expect(existsSync(target)).toBe(false);
});

test("work by a metric is what its counters rose by between the exact ends", () => {
  const counter = new WorkCounter("gpu_work_units_total");
  const builder = new LayoutBuilder();
  for (const uuid of ["A", "B"]) builder.add(gpu.work, labelSet({ uuid }));
  const layout = builder.build();
  for (const timeMs of [0, 100, 200]) {
    const writer = new FrameWriter(layout, timeMs);
    writer.set(0, timeMs);
    writer.set(1, 2 * timeMs);
    counter.see(writer.finish());
  }
  expect(counter.amount([50, 150])).toBe(300);
  expect(new WorkCounter("nothing").amount([0, 1])).toBeUndefined();
});

/** A card whose slow and static readings take time, as a real driver's do. */
function slowCard(device: Device): PolledSource {
  const series: Readonly<Record<Tier, readonly (readonly [MetricEntry, number])[]>> = {
    fast: [
      [gpu.up, 1],
      [gpu.power, 76],
    ],
    slow: [
      [gpu.memoryUsed, 4e6],
      [gpu.computeMode, 0],
      [gpu.eccErrors, 0],
    ],
    static: [
      [gpu.memoryTotal, 150e9],
      [gpu.powerLimit, 700],
      [gpu.pcieLinkWidthMax, 16],
      [gpu.eccEnabled, 1],
    ],
  };
  const layouts = new Map(
    (["fast", "slow", "static"] as const).map((tier) => {
      const builder = new LayoutBuilder();
      for (const [metric] of series[tier])
        builder.add(metric, labelSet({ uuid: device.uuid, gpu: "0", host: "h" }));
      return [tier, builder.build()];
    }),
  );
  return {
    shape: "polled",
    tiers: ["fast", "slow", "static"],
    devices: () => [device],
    read: async (tier, timeMs) => {
      await new Promise((resolve) => setTimeout(resolve, tier === "fast" ? 0 : 40));
      const writer = new FrameWriter(layouts.get(tier) ?? new LayoutBuilder().build(), timeMs);
      series[tier].forEach(([, value], slot) => writer.set(slot, value));
      return writer.finish();
    },
    close: () => {},
  };
}

const card: Device = {
  uuid: "GPU-a",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
  driver: "580.95.05",
  vbios: "96.00",
  pciBusId: "0000:10:00.0",
};

test("snapshots taken as soon as the recorder has started say the same of an unchanged machine", async () => {
  const recorder = new Recorder({
    sources: [{ name: "nvidia", source: slowCard(card) }],
    uuids: [card.uuid],
    host: "h",
    samplingMs: 100,
    clock: systemClock,
    log: silentLog,
  });
  const snap = () =>
    snapNow(
      {
        fresh: () => recorder.latest.at(Date.now()),
        devices: [card],
        machine: {
          procfs: path.join(folder, "proc"),
          sysfs: path.join(folder, "sys"),
          fileAccess: hostFileAccess,
          architecture: "x86_64",
          env: {},
        },
        host: "h",
        version: "1",
      },
      Date.now(),
    );
  await recorder.start(5_000);
  const before = await snap();
  await recorder.refresh(5_000);
  const after = await snap();
  await recorder.stop();
  expect(before.facts.gpus[0]).toMatchObject({ memoryTotalBytes: 150e9, powerLimitWatts: 700 });
  const verdict = verdictOf({ before, after, foreign: [], startedMs: 0, idleAfter: false });
  expect([verdict.verdict, verdict.changes, verdict.unproven]).toEqual(["same", [], undefined]);
});

test("power right behind a command is the command's own, and no sign of another load", async () => {
  const at = (powerWatts: number): Snapshot => ({
    format: "gpulse-snapshot",
    version: 1,
    takenAt: "2026-01-01T00:00:00.000Z",
    gpulse: "1",
    host: "h",
    simulated: false,
    facts: {
      gpus: [],
      p2p: {},
      board: {},
      processor: { frequency: {} },
      memory: {},
      storage: [],
      network: [],
      os: {},
      container: { inside: false },
      software: { versions: {} },
    },
    readings: {
      gpus: [{ uuid: "GPU-a", index: 0, powerWatts, powerKind: "board" }],
      processes: [],
      host: {},
    },
    hidden: [],
    missing: [],
  });
  const input = { before: at(76), after: at(640), foreign: [], startedMs: 0 };
  expect(verdictOf({ ...input, idleAfter: false }).verdict).toBe("same");
  expect(verdictOf({ ...input, idleAfter: true }).verdict).toBe("loaded");
});
