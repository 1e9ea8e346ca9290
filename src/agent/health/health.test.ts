import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder, writeTree } from "../../../test/captures/tree.ts";
import { card, frameOf, sound } from "../../../test/fixtures/view/health.ts";
import { classify } from "../../machine/kernel-log/classify.ts";
import { systemNow } from "../../machine/kernel-log/reader.ts";
import { HealthWatch } from "../../view/health/watch.ts";
import { applicationIn, applyKernelLine, recoveryIn } from "./kernel-events.ts";
import { HealthSource } from "./source.ts";

const lines = {
  xid31: "NVRM: Xid (PCI:0000:18:00): 31, pid=4242, name=python3, Ch 00000008, MMU Fault",
  xid79:
    "NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
  reboot:
    "NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
  recovered:
    "NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
  other: "NVRM: Xid (PCI:0000:99:00): 48, An uncorrectable double bit error (DBE)",
  sxidFatal: "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 24007, Fatal, Link 46 sourcetrack timeout",
  sxid: "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 46 egress",
};

test("the application of an Xid is its program's name", () => {
  expect(applicationIn(lines.xid31)).toBe("python3");
  expect(applicationIn(lines.xid79)).toBeUndefined();
});

test.each([
  [lines.reboot, 2],
  [lines.recovered, 0],
  ["GPU recovery action changed from 0x0 (None) to 0x1 (PF FLR)", 1],
  ["GPU recovery action changed from 0x0 (None) to 0x9 (Dance)", undefined],
])("recovery action of %s", (text, action) => {
  expect(recoveryIn(text)).toBe(action);
});

function judged(nowMs: number, ...texts: readonly string[]) {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  const readings = sound.filter(([metric]) => metric.name !== "gpu_recovery_action");
  watch.take({ frame: frameOf(nowMs, readings), devices: [card] });
  texts.forEach((text, index) => {
    const line = classify({
      facility: 0,
      level: 3,
      sequence: index,
      sinceBootUs: index,
      isFragment: false,
      text,
    });
    if (line !== undefined) applyKernelLine(watch, "box", line, nowMs - 1_000);
  });
  const [host] = watch.report(nowMs);
  return { host, gpu: host?.gpus[0] };
}
const names = (reasons: readonly { reason: string; state: string; action: string }[] = []) =>
  reasons.map(({ reason, state, action }) => `${reason} ${state} ${action}`);

test.each<readonly [string, readonly string[], readonly string[]]>([
  ["an Xid", [lines.xid31], ["xid_31 healthy restart_app"]],
  [
    "off the bus",
    [lines.xid79, lines.reboot],
    ["recovery_action failing reboot", "xid_79 failing reboot"],
  ],
  ["recovered since", [lines.xid79, lines.recovered], []],
  ["another GPU's", [lines.other], []],
  [
    "a reset by the driver",
    ["amdgpu 0000:18:00.0: amdgpu: GPU reset begin!"],
    ["driver_reset healthy restart_app"],
  ],
])("lines of the kernel's log: %s", (_name, texts, expected) => {
  const nowMs = Date.UTC(2026, 0, 5);
  expect(names(judged(nowMs, ...texts).gpu?.reasons).sort()).toEqual([...expected].sort());
});

test("a fatal error of an NVSwitch is the machine's", () => {
  const nowMs = Date.UTC(2026, 0, 5);
  const { host, gpu } = judged(nowMs, lines.sxidFatal, lines.sxid);
  expect(names(host?.reasons)).toEqual(["sxid_24007 failing reboot", "sxid_12028 healthy none"]);
  expect([host?.worst, gpu?.state]).toEqual(["failing", "healthy"]);
});

/** Writes a file in the format of /dev/kmsg: kernel lines stamped a few seconds ago by the clock since boot. */
function kmsg(...texts: readonly string[]): string {
  const file = path.join(temporaryFolder(), "kmsg");
  const sinceBootUs = Math.round(systemNow().sinceBootUs) - 2_000_000;
  writeFileSync(file, texts.map((text, at) => `3,${at + 1},${sinceBootUs},-;${text}\n`).join(""));
  return file;
}

test("a single look reads the kernel's log and EDAC", async () => {
  const sysfs = writeTree({
    "devices/system/edac/mc/mc0/ce_count": "4",
    "devices/system/edac/mc/mc0/ue_count": "0",
  });
  const source = new HealthSource({
    hostName: "box",
    sysfs,
    kmsg: kmsg(lines.other, lines.xid79),
    settleMs: 1_000,
  });
  const deliver = (frame: ReturnType<typeof frameOf>) =>
    source.take({ frame, source: "nvidia", tier: "fast", freshForMs: 5_000, devices: [card] });
  deliver(frameOf(Date.now(), sound));
  await source.readLog();
  const nowMs = Date.now();
  deliver(await source.read("slow", nowMs));
  const [host] = source.report(nowMs);
  expect(names(host?.gpus[0]?.reasons)).toEqual(["xid_79 failing reboot"]);
  expect([host?.state, host?.worst]).toEqual(["healthy", "failing"]);
  const page = await source.read("slow", nowMs);
  expect(page.layout.series.map(({ metric }) => metric.name)).toEqual([
    "host_health_state",
    "gpu_health_state",
    "gpu_health_reason",
    "gpu_health_unchecked",
    "host_memory_errors_total",
    "host_memory_errors_total",
  ]);
  await source.close();
});

test("a log that cannot be read is said where nothing else reports the driver's errors", async () => {
  const source = new HealthSource({
    hostName: "box",
    sysfs: writeTree({}),
    kmsg: "/nonexistent/kmsg",
  });
  const readings = sound.filter(([metric]) => metric.name !== "gpu_xid_watched");
  const nowMs = Date.now();
  const frame = frameOf(nowMs, readings);
  source.take({ frame, source: "nvidia", tier: "fast", freshForMs: 5_000, devices: [card] });
  await source.read("slow", nowMs);
  expect(source.report(nowMs)[0]?.gpus[0]?.unchecked).toContainEqual({
    check: "driver_errors",
    why: "kernel log: /nonexistent/kmsg is not there.",
  });
  await source.close();
});
