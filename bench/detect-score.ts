/** Compares alarms with the injected faults: which were detected and when, and alarms about GPUs without a fault. */
import type { FaultName } from "../src/sources/sim/fleet/faults.ts";
import type { PlannedFault } from "./detect-plan.ts";
import type { Alarm } from "./detect-log.ts";
import { startMs } from "./detect-host.ts";
import type { DetectionRun } from "./detect-run.ts";

export interface ScoredFault {
  readonly fault: PlannedFault;
  /** True if the fault could not show: no load for a fault that shows under load, no job that kept running. */
  readonly hidden: boolean;
  /** Why no field of the exporter shows it; undefined if one does. */
  readonly notReported: string | undefined;
  readonly by: Alarm | undefined;
  readonly afterMs: number | undefined;
}

export interface Score {
  readonly judged: readonly ScoredFault[];
  /** Alarms of GPUs that had no fault at the time nor shortly before. */
  readonly false: readonly Alarm[];
  /** Alarms of faulty GPUs that are not about the fault. */
  readonly others: readonly Alarm[];
}

/**
 * The alarms that match each fault. Heat slows a card down, so an alarm about speed may be caused by heat, but does not count as
 * detecting it.
 */
const names: Readonly<Record<FaultName, RegExp>> = {
  "fan-failure":
    /^(Gpu(Memory)?(Hot|TooHot|Temperature\w*|ThermalThrottling|FanStopped)\w*|GpuAnomaly\/(cooling_degraded|temperature_spike|fan_slow))$/,
  "degraded-paste":
    /^(Gpu(Memory)?(Hot|TooHot|Temperature\w*|ThermalThrottling)\w*|GpuAnomaly\/(cooling_degraded|temperature_spike))$/,
  "stuck-clocks": /^(GpuClockStuck|GpuStraggler|GpuAnomaly\/clock_low)$/,
  "ecc-growth": /^GpuEcc\w+$/,
  xid: /^GpuXid\w*$/,
  "pcie-downgrade": /^(GpuPcie\w+|GpuDegraded\/pcie_\w+|GpuAnomaly\/link_degraded)$/,
  "gpu-lost": /^(GpuLost|GpuMissing)$/,
  "power-brake": /^(GpuPowerBrake|GpuClockStuck|GpuStraggler|GpuAnomaly\/clock_low)$/,
  straggler: /^(GpuStraggler|GpuAnomaly\/straggler)$/,
  "memory-leak": /^(GpuMemoryFull|GpuAnomaly\/memory_leak)$/,
  "hung-driver": /^(GpulseSourceFailing|GpuDataStale|GpulseExporterDown|GpuLost)$/,
};

const underLoad: ReadonlySet<FaultName> = new Set([
  "degraded-paste",
  "stuck-clocks",
  "power-brake",
  "straggler",
  "pcie-downgrade",
]);
const leastBusySeconds = 180;
const leastJobSeconds = 600;
/** An alarm may come this long after the end of its fault, which is how long a warm card takes to cool. */
const graceMs = 5 * 60_000;
const aftermathMs = 20 * 60_000;

export function score(
  run: DetectionRun,
  faults: readonly PlannedFault[],
  fromMs: number,
  whyNotReported: (fault: PlannedFault) => string | undefined = () => undefined,
): Score {
  const alarms = run.alarms
    .filter(({ severity, firstMs }) => severity !== "info" && firstMs >= startMs + fromMs)
    .sort((left, right) => left.firstMs - right.firstMs);
  const concerns = ({ host, gpu }: PlannedFault, alarm: Alarm): boolean =>
    gpu < 0 ? alarm.host === run.hostNames[host] : alarm.uuid === run.uuids[host]?.[gpu];
  const isDuring = ({ atMs, forMs }: PlannedFault, { firstMs }: Alarm, moreMs: number): boolean =>
    firstMs >= startMs + atMs && firstMs <= startMs + atMs + forMs + moreMs;
  const judged = faults.map((fault): ScoredFault => {
    const by = alarms.find(
      (alarm) =>
        concerns(fault, alarm) &&
        isDuring(fault, alarm, graceMs) &&
        names[fault.fault].test(alarm.name),
    );
    return {
      fault,
      hidden: isHidden(run, fault),
      notReported: whyNotReported(fault),
      by,
      afterMs: by === undefined ? undefined : by.firstMs - startMs - fault.atMs,
    };
  });
  const found = new Set(judged.map(({ by }) => by));
  const rest = alarms.filter((alarm) => !found.has(alarm));
  const ailing = (alarm: Alarm): boolean =>
    faults.some((fault) => concerns(fault, alarm) && isDuring(fault, alarm, aftermathMs));
  return {
    judged,
    false: rest.filter((alarm) => !ailing(alarm)),
    others: rest.filter(ailing),
  };
}

export function isHidden({ exposure }: DetectionRun, fault: PlannedFault): boolean {
  const seen = exposure.get(fault);
  if (seen === undefined) return false;
  if (fault.fault === "memory-leak") return seen.longestJobSeconds < leastJobSeconds;
  const needsLoad = underLoad.has(fault.fault) || (fault.fault === "fan-failure" && fault.ownFans);
  return needsLoad && seen.busySeconds < leastBusySeconds;
}
