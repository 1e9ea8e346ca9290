/** The queries of the explain benchmark about simulated faults, and the check of the results. */
import { findModel } from "../src/sources/sim/models/index.ts";
import type { Random } from "../src/sources/sim/random.ts";
import type { CauseName } from "../src/view/explain/causes.ts";
import type { Explanation } from "../src/view/explain/explanation.ts";
import type { PlannedFault } from "./detect-plan.ts";
import type { FleetRun } from "./explain-fleet.ts";

/** The cause's name for a fault. */
export function truthOf({ fault, gpu }: PlannedFault, models: readonly string[]): CauseName {
  const model = findModel(models[gpu] ?? "");
  switch (fault) {
    case "fan-failure":
      return model?.fans === undefined ? "airflow_lost" : "fan_failure";
    case "degraded-paste":
      return "cooling_degraded";
    case "stuck-clocks":
      return "stuck_clocks";
    // AMD's driver reports no power brake: only the reduced clock is visible.
    case "power-brake":
      return model?.vendor === "amd" ? "stuck_clocks" : "power_brake";
    case "ecc-growth":
      return "ecc_errors";
    case "xid":
      return "xid_error";
    case "pcie-downgrade":
      return "pcie_degraded";
    case "gpu-lost":
      return "gpu_lost";
    case "straggler":
      return "straggler";
    case "memory-leak":
      return "memory_leak";
    case "hung-driver":
      return "driver_hung";
  }
}

const underLoad: ReadonlySet<string> = new Set([
  "degraded-paste",
  "stuck-clocks",
  "power-brake",
  "straggler",
]);
/** As in `bench:detect`: a fault that shows under load needs this much load, a leak needs a job that keeps running. */
const leastBusySeconds = 180;
const leastJobSeconds = 600;
/** Load longer ago than this is not considered. */
const lookedAtMs = 40 * 60_000;

/** True if the fault could show before the requested time. */
export function isVisible(run: FleetRun, fault: PlannedFault, atMs: number): boolean {
  const { host, gpu, ownFans } = fault;
  const fromMs = Math.max(fault.atMs, atMs - lookedAtMs);
  if (fault.fault === "memory-leak")
    return run.jobSeconds(host, gpu, fault.atMs, atMs) >= leastJobSeconds;
  const needsLoad = underLoad.has(fault.fault) || (fault.fault === "fan-failure" && ownFans);
  return !needsLoad || run.busySeconds(host, gpu, fromMs, atMs) >= leastBusySeconds;
}

/** A time in the second half of a fault; for an event, some time after it. */
export function momentOf({ fault, atMs, forMs }: PlannedFault, random: Random): number {
  const share = fault === "xid" ? random.between(0.1, 1) : random.between(0.5, 1);
  return Math.round((atMs + forMs * share) / 1_000) * 1_000 - 1_000;
}

export interface AnsweredHour {
  readonly truths: readonly { readonly cause: CauseName; readonly uuid: string | undefined }[];
  readonly explanation: Explanation;
}

const isTrue = (cause: Explanation["causes"][number], truths: AnsweredHour["truths"]): boolean =>
  truths.some(
    (truth) =>
      truth.cause === cause.cause && (truth.uuid === undefined || cause.gpus.includes(truth.uuid)),
  );

export function isFirst({ truths, explanation }: AnsweredHour): boolean {
  const [first] = explanation.causes;
  return first !== undefined && isTrue(first, truths);
}

/** True if all true causes are among the first three. */
export function isWithinThree({ truths, explanation }: AnsweredHour): boolean {
  const three = explanation.causes.slice(0, 3);
  return truths.every((truth) => three.some((cause) => isTrue(cause, [truth])));
}

const combinable: ReadonlySet<string> = new Set([
  "fan-failure",
  "degraded-paste",
  "stuck-clocks",
  "ecc-growth",
  "pcie-downgrade",
  "power-brake",
  "straggler",
]);

/** Faults that hide each other on one GPU, since they share a clock or a heatsink. */
const families: readonly (readonly string[])[] = [
  ["fan-failure", "degraded-paste"],
  ["stuck-clocks", "power-brake"],
];

/** Adds to each fault that leaves the GPU responding a second one of a kind that it does not hide. */
export function planPairs(
  faults: readonly PlannedFault[],
  hosts: readonly (readonly string[])[],
  random: Random,
): readonly PlannedFault[] {
  return faults.flatMap((fault) => {
    if (!combinable.has(fault.fault)) return [];
    const model = findModel(hosts[fault.host]?.[fault.gpu] ?? "");
    const others = [...combinable].filter(
      (name) =>
        name !== fault.fault &&
        !families.some((family) => family.includes(name) && family.includes(fault.fault)) &&
        (name !== "ecc-growth" || model?.memory.ecc === true),
    );
    const second = others[random.below(others.length)] as PlannedFault["fault"];
    return [fault, { ...fault, fault: second, amount: undefined }];
  });
}
