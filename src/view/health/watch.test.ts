import { expect, test } from "vitest";
import {
  but,
  card,
  frameOf,
  type GivenReading,
  healthStartMs,
  sound,
  watchFor,
} from "../../../test/fixtures/view/health.ts";
import { gpu, host } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { ReadingFrames } from "../../model/reading-frames.ts";
import { healthReadings } from "./series.ts";
import { type GpuHealth, HealthWatch } from "./watch.ts";

const shown = ({ state, action, reasons }: GpuHealth): string =>
  [state, action, ...reasons.map(({ reason }) => reason)].join(" ");

test("a busy GPU without problems is healthy, and the verdict names what was not checked", () => {
  const verdict = watchFor(10, sound);
  expect(shown(verdict)).toBe("healthy none");
  expect(verdict.unchecked).toEqual([
    { check: "interconnect", why: "links to other GPUs: not reported by this card" },
  ]);
});

test("silence is unknown, never healthy", () => {
  expect(watchFor(5, [[gpu.up, 1]]).state).toBe("unknown");
  const asleep = watchFor(5, [
    [gpu.asleep, 1],
    [gpu.utilization, "asleep"],
  ]);
  expect(asleep.state).toBe("unknown");
  expect(asleep.unchecked[0]?.why).toContain("asleep");
});

test("a check says why its input is missing", () => {
  const { unchecked } = watchFor(5, but([gpu.recoveryAction, "denied"], [gpu.xidWatched, 0]));
  expect(unchecked).toContainEqual({
    check: "recovery",
    why: "recovery action: this user may not read it",
  });
  expect(unchecked.map(({ check }) => check)).toContain("driver_errors");
});

test("a machine that stops to report is unknown", () => {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  watchFor(10, sound, watch);
  const [first] = watch.report(healthStartMs + 600_000);
  expect(first?.gpus[0]).toMatchObject({ state: "unknown", reasons: [] });
  expect(first?.gpus[0]?.unchecked[0]?.why).toContain("no readings for 10 min");
});

const hot: readonly GivenReading[] = [
  [gpu.temperature, 88, { sensor: "edge" }],
  [gpu.fanSpeed, 0, { fan: "1" }],
];

test.each<readonly [string, number, readonly GivenReading[], string]>([
  ["it does not respond", 20, [[gpu.up, 0]], "lost reboot gpu_lost"],
  ["a fan stands still", 70, but(...hot), "failing drain fan_stopped"],
  [
    "heat holds its clocks down",
    90,
    but([gpu.throttleActive, 1, { reason: "thermal" }]),
    "degraded inspect thermal_throttling",
  ],
  [
    "it is at its slowdown temperature",
    40,
    but([gpu.temperatureMargin, -1]),
    "degraded inspect too_hot",
  ],
  [
    "its clock is stuck",
    400,
    but([gpu.clock, 400e6, { domain: "graphics" }]),
    "degraded reset_gpu clock_stuck",
  ],
  ["its link is narrow", 400, but([gpu.pcieLinkWidth, 4]), "degraded reboot pcie_degraded"],
  [
    "the power supply brakes it",
    40,
    but([gpu.throttleActive, 1, { reason: "power_brake" }]),
    "degraded inspect power_brake",
  ],
  [
    "the driver asks for a reboot",
    5,
    but([gpu.recoveryAction, 2]),
    "failing reboot recovery_action",
  ],
  [
    "the driver asks for a bus reset",
    5,
    but([gpu.recoveryAction, 6]),
    "failing reset_gpu recovery_action",
  ],
  ["a row cannot be remapped", 5, but([gpu.rowRemapFailed, 1]), "failing drain row_remap_failed"],
  [
    "a repair waits for a reset",
    5,
    but([gpu.remappedRowsPending, 1]),
    "degraded reset_gpu memory_repair_pending",
  ],
  [
    "60 pages are retired",
    5,
    but([gpu.retiredPages, 60, { cause: "corrected" }]),
    "failing drain retired_pages",
  ],
  [
    "it had uncorrectable errors before anybody looked",
    5,
    but([gpu.eccErrors, 2, { type: "uncorrected" }]),
    "degraded reset_gpu ecc_uncorrected",
  ],
  [
    "links are down",
    310,
    but([gpu.interconnectUp, 1, { link: "0" }], [gpu.interconnectUp, 0, { link: "1" }]),
    "degraded reset_gpu links_down",
  ],
  [
    "it has not joined the fabric",
    610,
    but([gpu.fabricState, 2]),
    "degraded inspect fabric_incomplete",
  ],
])("where %s", (_name, seconds, readings, expected) => {
  expect(shown(watchFor(seconds, readings))).toBe(expected);
});

test.each<readonly [string, GivenReading, GivenReading, string]>([
  [
    "corrected memory errors",
    [gpu.eccErrors, 0, { type: "corrected" }],
    [gpu.eccErrors, 11, { type: "corrected" }],
    "degraded inspect ecc_corrected",
  ],
  [
    "uncorrectable memory errors",
    [gpu.eccErrors, 0, { type: "uncorrected" }],
    [gpu.eccErrors, 1, { type: "uncorrected" }],
    "failing reset_gpu ecc_uncorrected",
  ],
  [
    "uncorrectable errors of a block (AMD)",
    [gpu.blockErrors, 3, { block: "gfx", type: "uncorrected" }],
    [gpu.blockErrors, 4, { block: "gfx", type: "uncorrected" }],
    "failing reset_gpu ras_uncorrected",
  ],
  [
    "recoveries of a link",
    [gpu.interconnectErrors, 0, { link: "0", type: "recovery" }],
    [gpu.interconnectErrors, 1, { link: "0", type: "recovery" }],
    "degraded reset_gpu link_recoveries",
  ],
  [
    "CRC errors of a link",
    [gpu.interconnectErrors, 5, { link: "0", type: "crc_flit" }],
    [gpu.interconnectErrors, 206, { link: "0", type: "crc_flit" }],
    "degraded inspect link_errors",
  ],
  ["PCIe replays", [gpu.pcieReplays, 0], [gpu.pcieReplays, 81], "degraded inspect pcie_replays"],
  [
    "fatal PCIe errors",
    [gpu.pcieErrors, 0, { severity: "fatal" }],
    [gpu.pcieErrors, 1, { severity: "fatal" }],
    "failing reboot pcie_fatal",
  ],
])("growth of %s counts, what stood there before does not", (_name, before, after, expected) => {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  expect(watchFor(5, but(before), watch).state).toBe("healthy");
  expect(shown(watchFor(5, but(after), watch, 6))).toBe(expected);
});

test("a counter that falls shows a reset: the errors before are over", () => {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  const errors = (count: number) => but([gpu.eccErrors, count, { type: "uncorrected" }]);
  watchFor(2, errors(0), watch);
  expect(watchFor(2, errors(3), watch, 3).state).toBe("failing");
  expect(watchFor(2, errors(0), watch, 6).state).toBe("healthy");
});

test("a condition is kept for ten minutes, so that a verdict does not flicker", () => {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  watchFor(70, but(...hot), watch);
  expect(watchFor(300, sound, watch, 71).state).toBe("failing");
  expect(watchFor(620, sound, watch, 372).state).toBe("healthy");
});

test("a single look believes a narrow link at once, and no clock", () => {
  const once = () => new HealthWatch({ acceptsVerdicts: false, settleMs: 1_000 });
  expect(shown(watchFor(3, but([gpu.pcieLinkWidth, 4]), once()))).toBe(
    "degraded reboot pcie_degraded",
  );
  const slow = but([gpu.clock, 400e6, { domain: "graphics" }]);
  expect(watchFor(3, slow, once()).state).toBe("healthy");
});

test("an Xid counter becomes a reason once, with the user who ran there", () => {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  const run = (user: string, count: number, second: number): GpuHealth =>
    watchFor(
      2,
      but(
        [gpu.ownerInfo, 1, { user }],
        [gpu.xidErrors, count, { xid: "31" }],
        [gpu.xidLast, healthStartMs / 1_000 + second, { xid: "31" }],
      ),
      watch,
      second,
    );
  const first = run("alice", 1, 0);
  expect(shown(first)).toBe("healthy restart_app xid_31");
  expect(first.reasons[0]?.text).toContain("once in alice");
  expect(shown(run("bob", 2, 600))).toBe("degraded reset_gpu xid_31");
});

test("MIG instances are part of their GPU's verdict, not GPUs of their own", () => {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  const instance = { ...card, uuid: "MIG-a", parent: "GPU-a" };
  watch.take({ frame: frameOf(healthStartMs, sound), devices: [card] });
  watch.take({ frame: frameOf(healthStartMs, sound, instance), devices: [instance] });
  expect(watch.report(healthStartMs)[0]?.gpus.map(({ device }) => device.uuid)).toEqual(["GPU-a"]);
});

function memoryFrame(timeMs: number, corrected: number, uncorrected: number) {
  const builder = new LayoutBuilder();
  for (const type of ["corrected", "uncorrected"])
    builder.add(host.memoryErrors, labelSet({ host: "box", controller: "mc0", type }));
  const writer = new FrameWriter(builder.build(), timeMs);
  writer.set(0, corrected);
  writer.set(1, uncorrected);
  return writer.finish();
}

test("errors of the machine's memory are the machine's, and count for the whole", () => {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  watchFor(2, sound, watch);
  watch.take({ frame: memoryFrame(healthStartMs, 0, 0) });
  const at = (timeMs: number) => watch.report(timeMs)[0];
  expect([at(healthStartMs)?.state, at(healthStartMs)?.worst]).toEqual(["healthy", "healthy"]);
  watch.take({ frame: memoryFrame(healthStartMs + 1_000, 20, 0) });
  expect(at(healthStartMs + 2_000)).toMatchObject({ state: "degraded", action: "inspect" });
  watch.take({ frame: memoryFrame(healthStartMs + 2_000, 20, 1) });
  expect(at(healthStartMs + 2_000)).toMatchObject({ state: "failing", worst: "failing" });
  expect(at(healthStartMs + 2_000)?.gpus[0]?.state).toBe("healthy");
});

test("a hub takes over what the agent found, with its own numbers where it sees them too", () => {
  const agent = new HealthWatch({ acceptsVerdicts: false });
  watchFor(5, but([gpu.rowRemapFailed, 1]), agent);
  agent.record("box", "GPU-a")?.xids.add({ timeMs: healthStartMs, xid: 79 });
  const timeMs = healthStartMs + 5_000;
  const frame = new ReadingFrames().frame(timeMs, healthReadings(agent.report(timeMs)));
  const hub = new HealthWatch({ acceptsVerdicts: true });
  watchFor(5, but([gpu.rowRemapFailed, 1]), hub);
  hub.take({ frame });
  const [box] = hub.report(timeMs);
  expect(box?.gpus[0]?.reasons.map(({ reason, text }) => [reason, text])).toEqual([
    ["row_remap_failed", "A bad row of memory could not be replaced: no spare row is left."],
    ["xid_79", "Xid 79 (GPU has fallen off the bus), as its agent reports."],
  ]);
  const later = new ReadingFrames().frame(timeMs + 1_000, [
    {
      metric: gpu.healthState,
      labels: labelSet({ host: "box", uuid: "GPU-a", gpu: "0" }),
      value: 0,
    },
  ]);
  hub.take({ frame: later });
  expect(hub.report(timeMs)[0]?.gpus[0]?.reasons.map(({ reason }) => reason)).toEqual([
    "row_remap_failed",
  ]);
});
