/** Faults by name: each changes a card's environment or what it reports, never the physics. */
import type { SimGpu } from "./gpu.ts";

export const faultNames = [
  "fan-failure",
  "degraded-paste",
  "stuck-clocks",
  "ecc-growth",
  "xid",
  "pcie-downgrade",
  "gpu-lost",
  "power-brake",
  "straggler",
  "memory-leak",
  "hung-driver",
] as const;
export type FaultName = (typeof faultNames)[number];

export interface FaultPlan {
  readonly fault: FaultName;
  readonly atMs: number;
  readonly forMs: number;
  readonly everyMs: number | undefined;
  readonly amount: number | undefined;
}

/** Time since the fault began; undefined if it is not active. */
export function intoFault(plan: FaultPlan, elapsedMs: number): number | undefined {
  if (elapsedMs < plan.atMs) return undefined;
  const since = elapsedMs - plan.atMs;
  const into = plan.everyMs === undefined || plan.everyMs === 0 ? since : since % plan.everyMs;
  return into < plan.forMs ? into : undefined;
}

/** Sets the faults of a GPU for the coming second. Starts from a healthy state each time, so that faults end by themselves. */
export function applyFaults(gpu: SimGpu, elapsedMs: number): void {
  const { around, model } = gpu;
  around.fansFailed = false;
  around.pasteFactor = 1;
  around.powerBrake = false;
  around.ceilingHertz = model.clocks.boostHertz;
  gpu.pace = 1;
  gpu.pcieGeneration = model.pcie.generation;
  gpu.pcieWidth = model.pcie.width;
  gpu.lost = false;
  const leakedBytes = gpu.leakedBytes;
  gpu.leakedBytes = 0;
  for (const plan of gpu.faults) {
    const into = intoFault(plan, elapsedMs);
    if (into !== undefined) applyFault(gpu, plan, into, leakedBytes);
  }
}

function applyFault(
  gpu: SimGpu,
  { fault, amount }: FaultPlan,
  intoMs: number,
  leakedBytes: number,
): void {
  const { around, model } = gpu;
  switch (fault) {
    case "fan-failure":
      around.fansFailed = true;
      return;
    case "degraded-paste":
      around.pasteFactor = amount ?? 3.5;
      return;
    case "stuck-clocks":
      around.ceilingHertz = model.clocks.boostHertz * (amount ?? 0.35);
      return;
    case "power-brake":
      around.powerBrake = true;
      return;
    case "straggler":
      gpu.pace = amount ?? 0.6;
      return;
    case "gpu-lost":
      gpu.lost = true;
      return;
    case "pcie-downgrade":
      gpu.pcieGeneration = Math.max(1, amount ?? 1);
      gpu.pcieWidth = Math.max(1, model.pcie.width / 2);
      gpu.pcieReplays += 2;
      return;
    case "ecc-growth": {
      // The rate grows every minute, as for a failing row; one error in fifty is uncorrectable.
      const perMinute = (amount ?? 6) * (1 + intoMs / 60_000);
      if (!model.memory.ecc) return;
      if (gpu.faultRandom.chance(Math.min(1, perMinute / 60))) {
        if (gpu.faultRandom.chance(0.02)) gpu.eccUncorrected += 1;
        else gpu.eccCorrected += 1 + gpu.faultRandom.below(3);
      }
      return;
    }
    case "xid":
      // An XID is an event, not a state: it happens in the first second.
      if (intoMs < 1_000 && model.vendor === "nvidia") gpu.xid = amount ?? 31;
      return;
    case "memory-leak":
      // A leak needs a running program.
      if (gpu.workload.kind !== undefined)
        gpu.leakedBytes =
          leakedBytes + Math.round(((amount ?? 1) / 100 / 60) * gpu.context.memoryBytes);
      return;
    case "hung-driver":
      return;
  }
}
