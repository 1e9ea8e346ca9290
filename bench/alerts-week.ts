/** The default alerts over simulated GPU-days: how often they fire on healthy GPUs, and whether each kind of fault fires one. */
import { type FaultName, faultNames } from "../src/sources/sim/fleet/faults.ts";
import { startMs } from "./detect-host.ts";
import type { Alarm } from "./detect-log.ts";
import type { PlannedFault } from "./detect-plan.ts";
import { run } from "./detect-run.ts";
import { score, type ScoredFault } from "./detect-score.ts";

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000] as const;
/** In 100 GPU-days without a fault. */
export const mostAlerts = 1;

type Progress = (doneMs: number, alarms: readonly Alarm[]) => void;

export interface HealthyOptions {
  readonly seed: number;
  readonly hosts: readonly (readonly string[])[];
  readonly days: number;
  readonly stepMs: number;
  /** Only the rules of this group. */
  readonly group?: string | undefined;
  readonly progress?: Progress;
}

export interface HealthyDays {
  readonly gpuDays: number;
  /** Alarms of every severity: informational alerts that fire all day are noise too. */
  readonly alarms: readonly Alarm[];
  readonly failedRules: ReadonlySet<string>;
}

/** Simulates healthy GPUs that run training, serving and batch jobs. */
export async function runHealthy(options: HealthyOptions): Promise<HealthyDays> {
  const { days, hosts, progress = () => {} } = options;
  const untilMs = days * dayMs;
  const done = await run({ ...options, faults: [], untilMs, withInfo: true, progress });
  return {
    gpuDays: days * hosts.flat().length,
    alarms: done.alarms,
    failedRules: done.failedRules,
  };
}

/** When each fault is injected into a GPU of the first host, and for how long, in minutes after the warm-up. */
const plan: readonly (readonly [FaultName, gpu: number, at: number, forMinutes: number])[] = [
  ["fan-failure", 0, 0, 30],
  ["degraded-paste", 1, 0, 45],
  ["stuck-clocks", 2, 0, 30],
  ["ecc-growth", 3, 0, 30],
  ["xid", 4, 0, 10],
  ["pcie-downgrade", 5, 0, 30],
  ["power-brake", 6, 0, 30],
  ["straggler", 7, 0, 45],
  ["memory-leak", 4, 30, 60],
  ["gpu-lost", 3, 60, 10],
  ["hung-driver", -1, 95, 3],
];
/** The anomaly watch learns first, as after an installation. */
const warmUpMs = 90 * minuteMs;

export interface FaultyOptions {
  readonly seed: number;
  /** The faults are on the GPUs of the first host; the other hosts are healthy. */
  readonly hosts: readonly (readonly string[])[];
  readonly stepMs: number;
  readonly progress?: Progress;
}

export interface FaultyHours {
  /** One of each kind. */
  readonly faults: readonly ScoredFault[];
  /** Alarms of GPUs without a fault. */
  readonly false: readonly Alarm[];
  /** Alarms of a lost GPU that began after the loss and are not about it. */
  readonly afterLoss: readonly Alarm[];
  /** The texts of all alerts that fired. */
  readonly texts: readonly string[];
}

/** Simulates one fault of every kind, at the simulator's default severity. */
export async function runFaults(options: FaultyOptions): Promise<FaultyHours> {
  const { seed, hosts, stepMs, progress = () => {} } = options;
  const faults = plan.map(([fault, gpu, at, forMinutes]): PlannedFault => ({
    fault,
    host: 0,
    gpu,
    atMs: warmUpMs + at * minuteMs,
    forMs: forMinutes * minuteMs,
    amount: undefined,
    matters: true,
    ownFans: false,
  }));
  const untilMs = warmUpMs + 2 * hourMs;
  const done = await run({ seed, hosts, faults, untilMs, stepMs, progress });
  const scored = score(done, faults, warmUpMs);
  const loss = faults.find(({ fault }) => fault === "gpu-lost");
  const lost = done.uuids[0]?.[loss?.gpu ?? -1];
  const lostMs = startMs + (loss?.atMs ?? 0);
  return {
    faults: scored.judged,
    false: scored.false,
    afterLoss: done.alarms.filter(
      ({ uuid, name, firstMs }) =>
        uuid === lost &&
        !/^Gpu(?:Lost|Missing|Xid\w*|Failing)$/.test(name) &&
        firstMs > lostMs + minuteMs &&
        firstMs <= lostMs + (loss?.forMs ?? 0),
    ),
    texts: done.alarms.map(({ name, says }) => `${name}: ${says}`),
  };
}

const kindsPlanned: readonly FaultName[] = plan.map(([fault]) => fault);
export const kindsMissing: readonly FaultName[] = faultNames.filter(
  (name) => !kindsPlanned.includes(name),
);

export const per100GpuDays = (count: number, gpuDays: number): number => (100 * count) / gpuDays;
