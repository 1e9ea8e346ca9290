/**
 * Compares a hub's health verdict on every simulated GPU with the injected faults: the worst state and action during a fault, and
 * `failing` or `lost` on GPUs without a fault. A GPU is repaired after each fault, as its action recommends.
 */
import type { Anomaly } from "../src/lake/analyses/anomaly/anomaly.ts";
import { deviceKey } from "../src/model/device.ts";
import type { Frame } from "../src/model/frame.ts";
import type { FaultName } from "../src/sources/sim/fleet/faults.ts";
import { anomalyReasons } from "../src/view/health/anomalies.ts";
import { ReadingFrames } from "../src/model/reading-frames.ts";
import { healthReadings } from "../src/view/health/series.ts";
import {
  type HealthAction,
  healthActions,
  type HealthState,
  type JudgedState,
  stateRank,
} from "../src/view/health/verdict.ts";
import { type GpuHealth, HealthWatch, type HostHealth } from "../src/view/health/watch.ts";
import { findXid } from "../src/view/health/xids.ts";
import { type Host, startMs } from "./detect-host.ts";
import type { PlannedFault } from "./detect-plan.ts";

/** For example `failing reset_gpu`. */
export type VerdictPair = `${JudgedState} ${HealthAction}`;

/** The acceptable verdicts of a fault. A stopped fan of a card that stays cool, and few memory errors, get the second one. */
const expected: Readonly<Record<Exclude<FaultName, "xid">, readonly VerdictPair[]>> = {
  "fan-failure": ["failing drain", "degraded inspect"],
  "degraded-paste": ["degraded inspect"],
  "stuck-clocks": ["degraded reset_gpu"],
  "ecc-growth": ["failing reset_gpu", "degraded inspect"],
  "pcie-downgrade": ["degraded reboot"],
  "gpu-lost": ["lost reboot"],
  "power-brake": ["degraded inspect"],
  straggler: ["degraded inspect"],
  "memory-leak": ["healthy restart_app"],
  "hung-driver": ["lost reboot"],
};

/** @param vendor only NVIDIA's cards report a power brake: on others only the lower clock is visible */
export function expectedVerdicts(
  { fault, amount }: Pick<PlannedFault, "fault" | "amount">,
  vendor: string,
): readonly VerdictPair[] {
  if (fault === "power-brake" && vendor !== "nvidia") return ["degraded reset_gpu"];
  if (fault !== "xid") return expected[fault];
  const entry = findXid(amount ?? 31);
  return entry === undefined ? ["degraded inspect"] : [`${entry.state} ${entry.action}`];
}

export interface FaultVerdict {
  readonly fault: PlannedFault;
  readonly expected: readonly VerdictPair[];
  /** The worst verdict during the fault; undefined if there was none. */
  readonly worst: VerdictPair | undefined;
  readonly reasons: readonly string[];
  /** From its beginning to the first expected verdict. */
  readonly afterMs: number | undefined;
}

export interface FalseVerdict {
  readonly host: string;
  readonly uuid: string;
  readonly timeMs: number;
  readonly state: HealthState;
  readonly reasons: readonly string[];
}

/** A verdict may outlast its fault by this much: conditions are held, and jobs continue. */
const graceMs = 60_000;
/** The time after a fault and its repair until a GPU counts as healthy again: warm cards cool, baselines settle. */
const aftermathMs = 20 * 60_000;
/** How long a hung driver stays visible after it responds again. */
const hangGraceMs = 30_000;

export class VerdictLog {
  readonly false: FalseVerdict[] = [];
  readonly #watch = new HealthWatch({ acceptsVerdicts: false });
  readonly #frames = new Map<string, ReadingFrames>();
  readonly #hosts: readonly Host[];
  readonly #faults: readonly PlannedFault[];
  readonly #worst = new Map<PlannedFault, Omit<FaultVerdict, "fault" | "expected">>();
  readonly #repaired = new Set<PlannedFault>();
  readonly #bad = new Set<string>();
  readonly #hungUntilMs = new Map<number, number>();

  constructor(hosts: readonly Host[], faults: readonly PlannedFault[]) {
    this.#hosts = hosts;
    this.#faults = faults;
  }

  take(frame: Frame): void {
    this.#watch.take({ frame });
  }

  /** The series of each host's agent. */
  frames(nowMs: number): { readonly host: string; readonly frame: Frame }[] {
    return this.#watch.report(nowMs).map((health) => {
      let frames = this.#frames.get(health.host);
      if (frames === undefined) this.#frames.set(health.host, (frames = new ReadingFrames()));
      return { host: health.host, frame: frames.frame(nowMs, healthReadings([health])) };
    });
  }

  look(elapsedMs: number, anomalies: readonly Anomaly[], fromMs: number): void {
    const nowMs = startMs + elapsedMs;
    this.#hosts.forEach(({ fleet }, host) => {
      if (fleet.hangsForMs(elapsedMs) > 0) this.#hungUntilMs.set(host, elapsedMs + hangGraceMs);
    });
    const report = this.#watch.report(nowMs, undefined, anomalyReasons(anomalies));
    for (const fault of this.#faults) this.#follow(fault, elapsedMs, report);
    if (elapsedMs >= fromMs) this.#findFalse(report, elapsedMs);
  }

  verdicts(): readonly FaultVerdict[] {
    return this.#faults.map((fault) => ({
      fault,
      expected: this.#expected(fault),
      ...(this.#worst.get(fault) ?? { worst: undefined, reasons: [], afterMs: undefined }),
    }));
  }

  #follow(fault: PlannedFault, elapsedMs: number, report: readonly HostHealth[]): void {
    const { host, gpu, atMs, forMs } = fault;
    if (elapsedMs < atMs) return;
    if (elapsedMs > atMs + forMs + graceMs) {
      if (this.#repaired.has(fault)) return;
      this.#repaired.add(fault);
      this.#repair(fault, elapsedMs);
      return;
    }
    const isHung = elapsedMs < (this.#hungUntilMs.get(host) ?? 0);
    if (isHung && gpu >= 0) return;
    const uuids = this.#uuids(fault);
    const name = this.#hosts[host]?.name;
    const gpus = report.find((one) => one.host === name)?.gpus ?? [];
    for (const health of gpus)
      if (uuids.includes(health.device.uuid)) this.#note(fault, elapsedMs, health);
  }

  /** A reset clears the counters since boot; replacing a fan or rebooting clears its recorded errors. */
  #repair(fault: PlannedFault, elapsedMs: number): void {
    const host = this.#hosts[fault.host];
    host?.fleet.devices.forEach(({ uuid }, index) => {
      if (fault.gpu >= 0 && index !== fault.gpu) return;
      // A driver that responds again does not repair a card with its own fault.
      if (fault.gpu < 0 && this.#hasOwnFault(fault.host, index, elapsedMs)) return;
      const card = host.fleet.gpus[index];
      if (card !== undefined) card.eccCorrected = card.eccUncorrected = 0;
      this.#watch.record(host.name, uuid)?.forgetErrors(startMs + elapsedMs);
    });
  }

  #hasOwnFault(host: number, gpu: number, elapsedMs: number): boolean {
    return this.#faults.some(
      (other) =>
        other.host === host &&
        other.gpu === gpu &&
        elapsedMs >= other.atMs &&
        elapsedMs <= other.atMs + other.forMs + graceMs,
    );
  }

  #note(fault: PlannedFault, elapsedMs: number, { state, action, reasons }: GpuHealth): void {
    if (state === "unknown") return;
    const pair: VerdictPair = `${state} ${action}`;
    const before = this.#worst.get(fault);
    const isExpected = this.#expected(fault).includes(pair);
    const afterMs = before?.afterMs ?? (isExpected ? elapsedMs - fault.atMs : undefined);
    const isWorse = before?.worst === undefined || pairRank(pair) > pairRank(before.worst);
    this.#worst.set(fault, {
      worst: isWorse ? pair : before.worst,
      reasons: isWorse ? reasons.map(({ reason }) => reason) : before.reasons,
      afterMs,
    });
  }

  #expected(fault: PlannedFault): readonly VerdictPair[] {
    const device = this.#hosts[fault.host]?.fleet.devices[Math.max(0, fault.gpu)];
    return expectedVerdicts(fault, device?.vendor ?? "");
  }

  #uuids({ host, gpu }: PlannedFault): readonly string[] {
    const devices = this.#hosts[host]?.fleet.devices ?? [];
    return devices.filter((_, index) => gpu < 0 || index === gpu).map(({ uuid }) => uuid);
  }

  #findFalse(report: readonly HostHealth[], elapsedMs: number): void {
    for (const { host, gpus } of report)
      for (const { device, state, reasons } of gpus) {
        const key = deviceKey(host, device.uuid);
        const isBad = state === "failing" || state === "lost";
        if (!isBad) this.#bad.delete(key);
        if (!isBad || this.#bad.has(key) || this.#isAiling(host, device.uuid, elapsedMs)) continue;
        this.#bad.add(key);
        const names = reasons.map(({ reason }) => reason);
        this.false.push({
          host,
          uuid: device.uuid,
          timeMs: startMs + elapsedMs,
          state,
          reasons: names,
        });
      }
  }

  #isAiling(host: string, uuid: string, elapsedMs: number): boolean {
    return this.#faults.some(
      (fault) =>
        this.#hosts[fault.host]?.name === host &&
        elapsedMs >= fault.atMs &&
        elapsedMs <= fault.atMs + fault.forMs + aftermathMs &&
        this.#uuids(fault).includes(uuid),
    );
  }
}

function pairRank(pair: VerdictPair): number {
  const [state, action] = pair.split(" ") as [JudgedState, HealthAction];
  return stateRank(state) * 10 + healthActions.indexOf(action);
}
