/**
 * Plans the faults of a detection benchmark: which fault on which GPU, when, for how long and how severe. Derived from the seed.
 */
import { type FaultName, faultNames } from "../src/sources/sim/fleet/faults.ts";
import { findModel } from "../src/sources/sim/models/index.ts";
import { Random } from "../src/sources/sim/random.ts";

export interface PlannedFault {
  readonly fault: FaultName;
  readonly host: number;
  /** Index on its host; -1 means all GPUs. */
  readonly gpu: number;
  readonly atMs: number;
  readonly forMs: number;
  readonly amount: number | undefined;
  /** True if the amount is large enough that somebody should be notified. */
  readonly matters: boolean;
  /** True for the card's own fans, which stop at idle anyway. */
  readonly ownFans: boolean;
}

export interface PlanOptions {
  readonly seed: number;
  /** The simulator's model names, one list per host. */
  readonly hosts: readonly (readonly string[])[];
  readonly fromMs: number;
  readonly untilMs: number;
  readonly severity: number;
}

const minuteMs = 60_000;

/** Shortest and longest duration in minutes. An XID is an event; its consequences are observed for ten minutes. */
const minutes: Readonly<Record<FaultName, readonly [number, number]>> = {
  "fan-failure": [12, 40],
  "degraded-paste": [15, 45],
  "stuck-clocks": [12, 40],
  "ecc-growth": [15, 45],
  xid: [10, 10],
  "pcie-downgrade": [12, 40],
  "gpu-lost": [3, 15],
  "power-brake": [10, 30],
  straggler: [15, 45],
  "memory-leak": [30, 70],
  "hung-driver": [1.5, 5],
};

/** Degraded paste that costs less at full load does not matter to anybody. */
const smallestKelvin = 5;

const xids = [13, 31, 43, 45, 48, 63, 74, 79, 94, 95] as const;

export function planFaults(options: PlanOptions): readonly PlannedFault[] {
  return options.hosts.flatMap((models, host) => [
    ...models.flatMap((model, gpu) => planGpu(options, host, gpu, model)),
    ...planHangs(options, host),
  ]);
}

/** One fault at a time, each kind once before any is repeated, with healthy time in between. */
function planGpu(
  { seed, fromMs, untilMs, severity }: PlanOptions,
  host: number,
  gpu: number,
  model: string,
): PlannedFault[] {
  const random = new Random(seed, `detect/${host}/${gpu}`);
  const kinds = faultNames.filter((fault) => canHave(model, fault));
  const plan: PlannedFault[] = [];
  let deck: FaultName[] = [];
  for (let atMs = fromMs + random.between(0, 20) * minuteMs; ;) {
    if (deck.length === 0) deck = shuffled(kinds, random);
    const fault = deck.pop();
    if (fault === undefined) return plan;
    const forMs = Math.round(random.between(...minutes[fault]) * 60) * 1_000;
    if (atMs + forMs > untilMs) return plan;
    const made = amountOf(fault, model, severity * random.between(0.85, 1.15), random);
    const ownFans = findModel(model)?.fans !== undefined;
    const at = Math.round(atMs / 1_000) * 1_000;
    plan.push({ fault, host, gpu, atMs: at, forMs, ownFans, ...made });
    atMs += forMs + (30 + random.exponential(40)) * minuteMs;
  }
}

function planHangs({ seed, fromMs, untilMs }: PlanOptions, host: number): PlannedFault[] {
  const random = new Random(seed, `detect/${host}/hang`);
  const plan: PlannedFault[] = [];
  for (let atMs = fromMs + random.between(10, 50) * minuteMs; ;) {
    const forMs = Math.round(random.between(...minutes["hung-driver"]) * 60) * 1_000;
    if (atMs + forMs > untilMs) return plan;
    const at = Math.round(atMs / 1_000) * 1_000;
    plan.push({
      fault: "hung-driver",
      host,
      gpu: -1,
      atMs: at,
      forMs,
      amount: undefined,
      matters: true,
      ownFans: false,
    });
    atMs += forMs + (120 + random.exponential(120)) * minuteMs;
  }
}

/** The simulator injects some faults only into cards that can have them. */
function canHave(modelName: string, fault: FaultName): boolean {
  const model = findModel(modelName);
  if (fault === "hung-driver" || model === undefined) return false;
  if (fault === "ecc-growth") return model.memory.ecc;
  return fault === "xid" ? model.vendor === "nvidia" : true;
}

/** At a severity of 1, the simulator's default amount. */
function amountOf(
  fault: FaultName,
  modelName: string,
  severity: number,
  random: Random,
): Pick<PlannedFault, "amount" | "matters"> {
  switch (fault) {
    case "degraded-paste": {
      const amount = 1 + 2.5 * severity;
      const model = findModel(modelName);
      const kelvinPerWatt = model?.thermal.spreader.kelvinPerWatt ?? 0;
      const atFullLoad = kelvinPerWatt * (amount - 1) * 0.8 * (model?.power.limitWatts ?? 0);
      return { amount, matters: atFullLoad >= smallestKelvin };
    }
    case "stuck-clocks": {
      const amount = Math.max(0.1, 1 - 0.65 * severity);
      return { amount, matters: amount <= 0.9 };
    }
    case "ecc-growth":
      return { amount: 6 * severity, matters: severity >= 0.1 };
    case "xid":
      return { amount: xids[random.below(xids.length)] ?? 31, matters: true };
    case "pcie-downgrade": {
      const most = findModel(modelName)?.pcie.generation ?? 4;
      return { amount: Math.max(1, Math.round(most - (most - 1) * severity)), matters: true };
    }
    case "straggler": {
      const amount = Math.max(0.15, 1 - 0.4 * severity);
      return { amount, matters: amount <= 0.88 };
    }
    case "memory-leak":
      return { amount: severity, matters: severity >= 0.2 };
    case "fan-failure":
    case "gpu-lost":
    case "power-brake":
    case "hung-driver":
      return { amount: undefined, matters: true };
  }
}

function shuffled(names: readonly FaultName[], random: Random): FaultName[] {
  return names
    .map((name) => ({ name, at: random.next() }))
    .sort((left, right) => left.at - right.at)
    .map(({ name }) => name);
}
