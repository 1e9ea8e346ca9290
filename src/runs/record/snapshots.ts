/** Takes snapshots around a run, from the readings being recorded, and derives a verdict from them and the foreign processes. */
import type { Device } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import { presence, presenceNames } from "../../model/presence.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { Machine } from "../../machine/machine.ts";
import { diffSnapshots } from "../snapshot/diff.ts";
import type { GpuReading, GpuView } from "../../machine/snapshot-gpu.ts";
import { defaultThresholds, type Snapshot } from "../../machine/snapshot.ts";
import { takeSnapshot } from "../snapshot/take.ts";
import type { ForeignProcess, RunChange, RunVerdict } from "../run.ts";

export interface SnapshotSource {
  readonly fresh: () => readonly Delivery[];
  readonly devices: readonly Device[];
  readonly machine: Machine;
  readonly host: string;
  readonly version: string;
}

export function snapNow(source: SnapshotSource, nowMs: number): Promise<Snapshot> {
  const { machine, host, version } = source;
  return takeSnapshot({
    machine,
    host,
    version,
    nowMs,
    gpus: viewsOf(source.devices, source.fresh()),
  });
}

function viewsOf(devices: readonly Device[], fresh: readonly Delivery[]): GpuView[] {
  const readings = new Map<string, GpuReading[]>();
  for (const { frame } of fresh)
    frame.layout.series.forEach(({ metric, labels, suffix }, slot) => {
      const uuid = labelValue(labels, "uuid");
      const state = presenceNames[frame.presence[slot] ?? presence.failed] ?? "failed";
      if (uuid === undefined || suffix !== "" || state === "ended") return;
      const own = readings.get(uuid) ?? [];
      readings.set(uuid, own);
      own.push(
        state === "present"
          ? { metric, labels, value: frame.values[slot] ?? 0 }
          : { metric, labels, absent: state },
      );
    });
  return devices.map((device) => ({ device, readings: readings.get(device.uuid) ?? [] }));
}

export interface VerdictInput {
  readonly before: Snapshot | undefined;
  readonly after: Snapshot | undefined;
  readonly foreign: readonly ForeignProcess[];
  readonly startedMs: number;
  /** False if the second snapshot was taken directly after the command: its power is still the command's own. */
  readonly idleAfter: boolean;
}

/** `unknown` without both snapshots; a foreign process on a GPU counts in any case. */
export function verdictOf(input: VerdictInput): RunVerdict {
  const { before, after, foreign } = input;
  const guests = foreign.map((process) => guestChange(process, input.startedMs));
  if (before === undefined || after === undefined)
    return { verdict: guests.length > 0 ? "loaded" : "unknown", changes: guests, foreign };
  const diff = diffSnapshots(before, after, {
    ...defaultThresholds,
    ...(input.idleAfter ? {} : { powerWatts: Number.POSITIVE_INFINITY }),
  });
  const verdict = diff.verdict === "same" && guests.length > 0 ? "loaded" : diff.verdict;
  const unproven = diff.unproven.map(({ sentence }) => sentence);
  return {
    verdict,
    changes: [...diff.changes, ...guests],
    foreign,
    ...(unproven.length === 0 ? {} : { unproven }),
  };
}

function guestChange(process: ForeignProcess, startedMs: number): RunChange {
  const { uuid, pid, name, fromMs, toMs, before, memoryBytes } = process;
  const seconds = (ms: number): string => ((ms - startedMs) / 1_000).toFixed(1);
  const held =
    memoryBytes === undefined ? "" : `, holding up to ${Math.round(memoryBytes / 2 ** 20)} MiB`;
  const when = before
    ? `was there before the command and until second ${seconds(toMs)}`
    : `came at second ${seconds(fromMs)} and was last seen at second ${seconds(toMs)}`;
  return {
    path: `processes.${uuid}.${pid}`,
    kind: "process",
    before: before ? name : null,
    after: name,
    sentence: `Another process was on the GPU ${uuid}: ${name} (pid ${pid}) ${when} of the run${held}.`,
  };
}
