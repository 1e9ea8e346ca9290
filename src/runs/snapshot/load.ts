/** Signs of another load: memory or power that differ by more than a threshold, and processes that started or ended. */
import type { SnapshotFindings } from "./diff.ts";
import type {
  GpuProcessReading,
  GpuReadings,
  Snapshot,
  SnapshotThresholds,
} from "../../machine/snapshot.ts";
import { formatFactBytes } from "./words.ts";

const leastPowerWatts = 15;
const powerShare = 0.1;

export function compareLoad(
  before: Snapshot,
  after: Snapshot,
  thresholds: SnapshotThresholds,
  findings: SnapshotFindings,
): void {
  for (const now of after.readings.gpus) {
    const was = before.readings.gpus.find(({ uuid }) => uuid === now.uuid);
    if (was === undefined) continue;
    compareMemory(was, now, thresholds, findings);
    const limit = after.facts.gpus.find(({ uuid }) => uuid === now.uuid)?.powerLimitWatts;
    comparePower(was, now, thresholds.powerWatts ?? usualWatts(limit), findings);
    compareCounts(before, after, was, now, findings);
  }
  compareProcesses(before, after, findings);
}

const usualWatts = (limitWatts: number | undefined): number =>
  Math.max(leastPowerWatts, (limitWatts ?? 0) * powerShare);

function compareMemory(
  was: GpuReadings,
  now: GpuReadings,
  { memoryBytes }: SnapshotThresholds,
  { changes }: SnapshotFindings,
): void {
  const [old, value] = [was.memoryUsedBytes, now.memoryUsedBytes];
  if (old === undefined || value === undefined || Math.abs(value - old) <= memoryBytes) return;
  changes.push({
    path: `readings.${now.uuid}.memoryUsedBytes`,
    kind: "reading",
    before: old,
    after: value,
    sentence: `GPU ${now.index}: memory in use ${formatFactBytes(old)} → ${formatFactBytes(value)}: ${whose(value > old)} (more than ${formatFactBytes(memoryBytes)} apart).`,
  });
}

function comparePower(
  was: GpuReadings,
  now: GpuReadings,
  threshold: number,
  { changes, notes }: SnapshotFindings,
): void {
  const [old, value] = [was.powerWatts, now.powerWatts];
  if (old === undefined || value === undefined) return;
  if (was.powerKind !== now.powerKind) {
    notes.push(
      `GPU ${now.index}: power is the board's in one snapshot and the chip's in the other, and was not compared.`,
    );
    return;
  }
  if (Math.abs(value - old) <= threshold) return;
  changes.push({
    path: `readings.${now.uuid}.powerWatts`,
    kind: "reading",
    before: old,
    after: value,
    sentence: `GPU ${now.index}: power ${Math.round(old)} W → ${Math.round(value)} W: ${whose(value > old)} (more than ${Math.round(threshold)} W apart).`,
  });
}

const whose = (rose: boolean): string =>
  rose ? "another load was on it at the second" : "a load was on it at the first";

/** A source without process names may still count processes. */
function compareCounts(
  before: Snapshot,
  after: Snapshot,
  was: GpuReadings,
  now: GpuReadings,
  { changes }: SnapshotFindings,
): void {
  const [old, value] = [was.processes, now.processes];
  if (old === undefined || value === undefined || old === value) return;
  const isNamed = [...before.readings.processes, ...after.readings.processes].some(
    ({ uuid }) => uuid === now.uuid,
  );
  if (isNamed) return;
  changes.push({
    path: `readings.${now.uuid}.processes`,
    kind: "process",
    before: old,
    after: value,
    sentence: `GPU ${now.index}: ${old} processes → ${value}.`,
  });
}

function compareProcesses(before: Snapshot, after: Snapshot, { changes }: SnapshotFindings): void {
  const [old, now] = [before.readings.processes, after.readings.processes];
  const indexOf = (uuid: string): string =>
    String(
      [...after.readings.gpus, ...before.readings.gpus].find((gpu) => gpu.uuid === uuid)?.index ??
        uuid,
    );
  const others = (list: readonly GpuProcessReading[], than: readonly GpuProcessReading[]) =>
    list.filter((process) => !than.some((other) => isSame(process, other)));
  for (const process of others(now, old))
    changes.push({
      path: `processes.${process.uuid}.${process.pid}`,
      kind: "process",
      before: null,
      after: process,
      sentence: `GPU ${indexOf(process.uuid)}: ${nameOf(process)} is there now and was not before.`,
    });
  for (const process of others(old, now))
    changes.push({
      path: `processes.${process.uuid}.${process.pid}`,
      kind: "process",
      before: process,
      after: null,
      sentence: `GPU ${indexOf(process.uuid)}: ${nameOf(process)} was there before and is gone.`,
    });
}

/** Pids are reused, so the name must match as well; one may be cut to the kernel's 15 characters. */
function isSame(a: GpuProcessReading, b: GpuProcessReading): boolean {
  if (a.uuid !== b.uuid || a.pid !== b.pid) return false;
  if (a.name === undefined || b.name === undefined) return true;
  return a.name.startsWith(b.name) || b.name.startsWith(a.name);
}

export function nameOf(process: GpuProcessReading): string {
  const place = [process.namespace, process.pod, process.container]
    .filter((part) => part !== undefined)
    .join("/");
  const held = process.memoryBytes === undefined ? [] : [formatFactBytes(process.memoryBytes)];
  const more = [
    ...(place === "" ? [] : [place]),
    ...(process.user === undefined ? [] : [process.user]),
    ...held,
  ];
  return `process ${process.pid} ${process.name ?? "(name unknown)"}${more.length === 0 ? "" : ` (${more.join(", ")})`}`;
}
