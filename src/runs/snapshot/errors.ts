/** Hardware errors that appeared between two snapshots: counters that increased, or that restarted and are above zero. Pure. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { isReportedBy } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { SnapshotFindings } from "./diff.ts";
import type { GpuView } from "../../machine/snapshot-gpu.ts";
import { AbsentFacts } from "./absence.ts";
import type { GpuReadings, Snapshot } from "../../machine/snapshot.ts";

interface ErrorCounter {
  readonly name: string;
  readonly metric: MetricEntry;
  /** Labels whose values are appended to the name. */
  readonly labels: readonly string[];
  readonly title: string;
  /** Label values to exclude: counted elsewhere, or normal in operation. */
  readonly except?: readonly string[];
  /** True if series appear with the first error: no series means zero once the tier has been read. */
  readonly startsEmpty?: true;
}

const counters: readonly ErrorCounter[] = [
  { name: "ecc", metric: gpu.eccErrors, labels: ["type"], title: "ECC errors" },
  {
    name: "eccLifetime",
    metric: gpu.eccLifetimeErrors,
    labels: ["type"],
    title: "ECC errors over the board's life",
  },
  {
    name: "block",
    metric: gpu.blockErrors,
    labels: ["block", "type"],
    title: "RAS errors",
    // The memory's own errors are in gpu_ecc_errors_total.
    except: ["umc"],
  },
  { name: "remappedRows", metric: gpu.remappedRows, labels: ["cause"], title: "remapped rows" },
  {
    name: "pcie",
    metric: gpu.pcieErrors,
    labels: ["severity"],
    title: "PCIe errors",
    // Working links have some: a packet is sent again.
    except: ["correctable"],
  },
  { name: "xid", metric: gpu.xidErrors, labels: ["xid"], title: "XID errors", startsEmpty: true },
];

/** Undefined if no such counter was read: a missing counter is not zero. */
export function errorCounts(view: GpuView): Record<string, number> | undefined {
  const counts: Record<string, number> = {};
  const isRead = view.readings.some(({ metric }) => metric.tier === "slow");
  for (const { name, metric, labels, except, startsEmpty } of counters) {
    if (startsEmpty && isRead && isReportedBy(view.device, metric)) counts[name] = 0;
    for (const reading of view.readings) {
      if (reading.metric !== metric || reading.value === undefined) continue;
      const parts = labels.flatMap((label) => labelValue(reading.labels, label) ?? []);
      if (parts.some((part) => except?.includes(part))) continue;
      if (startsEmpty) counts[name] = (counts[name] ?? 0) + reading.value;
      else counts[[name, ...parts].join(".")] = reading.value;
    }
  }
  return Object.keys(counts).length === 0 ? undefined : counts;
}

export function compareErrors(before: Snapshot, after: Snapshot, findings: SnapshotFindings): void {
  for (const now of after.readings.gpus) {
    const was = before.readings.gpus.find(({ uuid }) => uuid === now.uuid);
    if (was === undefined) continue;
    const missing =
      was.errors === undefined ? before : now.errors === undefined ? after : undefined;
    if (missing === undefined) compareCounters(was, now, findings);
    else if (was.errors !== undefined || now.errors !== undefined) {
      const path = `gpus.${now.uuid}.errors`;
      const which = missing === before ? "first" : "second";
      const reason = new AbsentFacts(missing).explain(path) ?? "not recorded in that file";
      findings.unproven.push({
        path,
        sentence: `GPU ${now.index}: error counters, ${which} snapshot: ${reason}.`,
      });
    }
  }
}

function compareCounters(was: GpuReadings, now: GpuReadings, { changes }: SnapshotFindings): void {
  for (const [name, count] of Object.entries(now.errors ?? {})) {
    const old = was.errors?.[name];
    if (old === undefined || count === old || count === 0 || isCountedSinceBoot(name, was, now))
      continue;
    // A counter that decreased was reset by the driver or a reboot: its value since then is new.
    const fresh = count > old ? count - old : count;
    changes.push({
      path: `gpus.${now.uuid}.errors.${name}`,
      kind: "fact",
      before: old,
      after: count,
      sentence: `GPU ${now.index}: ${fresh} new ${titleOf(name, fresh)}${count > old ? ` (${old} → ${count})` : `; the counter started again (${old} → ${count})`}.`,
    });
  }
}

/** True if the lifetime counter repeats the counter since boot, which was not reset. */
function isCountedSinceBoot(name: string, was: GpuReadings, now: GpuReadings): boolean {
  const sinceBoot = name.replace(/^eccLifetime\./, "ecc.");
  const [old, count] = [was.errors?.[sinceBoot], now.errors?.[sinceBoot]];
  return sinceBoot !== name && old !== undefined && count !== undefined && count >= old;
}

function titleOf(name: string, count: number): string {
  const [kind, ...parts] = name.split(".");
  const title = counters.find((one) => one.name === kind)?.title ?? kind ?? name;
  const words = [...parts, title].join(" ");
  return count === 1 ? words.replace(/(error|row)s\b/, "$1") : words;
}
