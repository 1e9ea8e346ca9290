/**
 * Determines who held a GPU between two ticks. Pure. Owners are observed only at ticks, so an owner observed at one end of an
 * interval is assumed to have held the GPU for the half nearer to that end; a job whose times the scheduler reports held it
 * exactly from its start to its end. Splits at full hours, so that every piece belongs to one hour of a bill.
 */
import { defined } from "../../base/defined.ts";
import type { OwnerLabels } from "../../machine/owners/gpu-owners.ts";
import { identifyJob, type JobIdentity } from "./job-key.ts";
import { hourMs, type EnergyRule } from "./record.ts";
import type { IdleTime } from "./open-job.ts";
import { type GpuTick, hasGap, type TickOwner } from "./tick.ts";

export interface EnergyInterval {
  readonly fromMs: number;
  readonly toMs: number;
  readonly joules: number;
  /** True if the time without a reading is too long to infer the owners from those at its ends. */
  readonly isGap: boolean;
  /** A counter was reset or a clock was set: the energy is known, its duration is not. */
  readonly flaw?: "counter_reset" | "clock_jumped_back" | undefined;
  readonly before?: readonly TickOwner[] | undefined;
  /** The tick at its end, with the increase of its counters in place of the counters. */
  readonly after: Omit<GpuTick, "joules" | "meter">;
}

/** The ledger's state of a GPU between two ticks. */
export interface GpuLedgerState {
  last: GpuTick;
  pending: EnergyInterval[];
  /** Everything before this time is assigned. */
  settledMs: number;
}

/** A job's allocation of the GPU, from the scheduler. */
export interface Allocation {
  readonly id: string;
  /** The workload labels of its processes. */
  readonly workloads: readonly string[];
  readonly fromMs: number;
  readonly toMs: number;
  /** True if the scheduler names this GPU; otherwise the job holds it only if its processes are observed on it. */
  readonly isCertain: boolean;
}

export interface GpuHolder {
  /** The id of a job that the scheduler reports; otherwise `job` identifies it. */
  readonly id?: string;
  readonly job?: JobIdentity;
  /** The usage of its processes, if they were observed. */
  readonly owner?: TickOwner | undefined;
  /** It no longer held the GPU at the end of the interval: the memory read there is that of its successor. */
  readonly isGone?: boolean;
}

export interface Piece {
  readonly fromMs: number;
  readonly toMs: number;
  readonly joules: number;
  readonly holders: readonly GpuHolder[];
  /** Without holders: true if the source reports owners and there were none. */
  readonly isIdle: boolean;
}

interface Span {
  readonly holder: GpuHolder;
  readonly fromMs: number;
  readonly toMs: number;
}

const nobody: readonly string[] = [];

/** A part of the time between two ticks. */
interface UsePart {
  readonly fromMs: number;
  readonly toMs: number;
  readonly joules: number;
  readonly floorRatio: number;
}

/** The usage of a GPU's only owner in a part of the time between two ticks. */
export function exclusiveUse(
  last: GpuTick,
  tick: GpuTick,
  owner: TickOwner,
  { fromMs, toMs, joules, floorRatio }: UsePart,
) {
  const part = (toMs - fromMs) / (tick.timeMs - last.timeMs);
  const isGone = toMs < tick.timeMs;
  return {
    fromMs,
    toMs,
    joules,
    rule: "exclusive",
    isUnobserved: false,
    idle: idleTime(tick, tick.timeMs - last.timeMs, { fromMs, toMs }, floorRatio),
    ...memoryOf(owner, isGone ? undefined : tick),
    tensorRatio: tick.tensorRatio,
    dramRatio: tick.dramRatio,
    activityRatio: tick.activityRatio,
    throttleSeconds: scaled(growth(last.throttleSeconds, tick.throttleSeconds), part),
    // As in every split: for the holder at the end, when it was observed.
    xids: isGone ? undefined : growth(last.xids, tick.xids),
    anomalies: tick.anomalies ?? nobody,
    neighbours: nobody,
  } as const;
}

export function intervalBetween(
  last: GpuTick,
  tick: GpuTick,
  isOtherMeter: boolean,
  gapMs: number,
): EnergyInterval {
  const { joules: _, meter: __, ...after } = tick;
  const isBack = tick.timeMs <= last.timeMs;
  const isReset = !isBack && !isOtherMeter && tick.joules < last.joules;
  const grown = isReset ? tick.joules : tick.joules - last.joules;
  return {
    fromMs: isBack ? tick.timeMs : last.timeMs,
    toMs: tick.timeMs,
    joules: isOtherMeter ? 0 : grown,
    isGap: hasGap(last, tick, gapMs),
    ...defined({
      flaw: isBack ? "clock_jumped_back" : isReset ? "counter_reset" : undefined,
      before: last.owners,
    } as const),
    after: {
      ...after,
      throttleSeconds: growth(last.throttleSeconds, tick.throttleSeconds),
      xids: growth(last.xids, tick.xids),
    },
  };
}

/** The memory of the owner if known, else of the GPU if the owner has it alone. */
export function memoryOf(
  owner: TickOwner | undefined,
  gpu: Pick<GpuTick, "memoryBytes" | "peakMemoryBytes"> | undefined,
) {
  const { memoryBytes, peakMemoryBytes } =
    owner?.memoryBytes === undefined ? (gpu ?? noMemory) : owner;
  return { memoryBytes, peakMemoryBytes };
}

const noMemory = { memoryBytes: undefined, peakMemoryBytes: undefined };

type PieceTimes = Pick<EnergyInterval, "fromMs" | "toMs">;

/** The idle time of a holder's piece; undefined if neither the GPU nor the process reports activity. */
export function idleTimeOf(
  { owner, id }: GpuHolder,
  interval: EnergyInterval,
  piece: PieceTimes,
  holders: number,
  floorRatio: number,
): IdleTime | undefined {
  const { after } = interval;
  // Allocated, but none of the processes on the GPU belongs to the job.
  if (owner === undefined && id !== undefined && after.owners !== undefined) return wholly(piece);
  if (holders > 1 && owner?.utilizationRatio !== undefined)
    return owner.utilizationRatio > floorRatio ? never : wholly(piece);
  return idleTime(after, interval.toMs - interval.fromMs, piece, floorRatio);
}

const never: IdleTime = { seconds: 0, sinceMs: undefined };

const wholly = ({ fromMs, toMs }: PieceTimes): IdleTime => ({
  seconds: (toMs - fromMs) / 1_000,
  sinceMs: fromMs,
});

/** Idle time within an interval is spread evenly over its pieces, except for the part that continues at its end. */
function idleTime(
  { activityRatio, idleMs, idleSinceMs }: EnergyInterval["after"],
  lengthMs: number,
  piece: PieceTimes,
  floorRatio: number,
): IdleTime | undefined {
  const isWhole = idleMs === undefined || idleMs >= lengthMs;
  if (activityRatio === undefined) return undefined;
  if (isWhole) return idleMs === undefined && activityRatio > floorRatio ? never : wholly(piece);
  if (idleMs === 0) return never;
  const seconds = (idleMs * (piece.toMs - piece.fromMs)) / lengthMs / 1_000;
  const sinceMs =
    idleSinceMs === undefined || idleSinceMs >= piece.toMs
      ? undefined
      : Math.max(idleSinceMs, piece.fromMs);
  return { seconds, sinceMs };
}

export function splitInterval(
  interval: EnergyInterval,
  allocations: readonly Allocation[],
): Piece[] {
  const { fromMs, toMs, joules, after } = interval;
  const spans = [...allocatedSpans(interval, allocations), ...seenSpans(interval, allocations)];
  const isIdle = !interval.isGap && after.owners !== undefined;
  const isWhole =
    Math.floor(fromMs / hourMs) === Math.floor((toMs - 1) / hourMs) &&
    spans.every((span) => span.fromMs === fromMs && span.toMs === toMs);
  // Nothing changed, which is the usual case.
  if (isWhole)
    return [{ fromMs, toMs, joules, holders: spans.map(({ holder }) => holder), isIdle }];
  const cuts = new Set<number>([fromMs, toMs]);
  for (const span of spans) cuts.add(span.fromMs).add(span.toMs);
  for (let hour = Math.ceil((fromMs + 1) / hourMs) * hourMs; hour < toMs; hour += hourMs)
    cuts.add(hour);
  const sorted = [...cuts].sort((left, right) => left - right);
  const pieces: Piece[] = [];
  for (let at = 1; at < sorted.length; at++) {
    const [start = 0, end = 0] = [sorted[at - 1], sorted[at]];
    const holders = spans
      .filter((span) => span.fromMs <= start && span.toMs >= end)
      .map(({ holder }) => holder);
    pieces.push({
      fromMs: start,
      toMs: end,
      joules: (joules * (end - start)) / (toMs - fromMs),
      holders,
      isIdle,
    });
  }
  return pieces;
}

function* allocatedSpans(
  { fromMs, toMs, before, after }: EnergyInterval,
  allocations: readonly Allocation[],
): Generator<Span> {
  for (const allocation of allocations) {
    const from = Math.max(fromMs, allocation.fromMs);
    const to = Math.min(toMs, allocation.toMs);
    const owner = ownerOf(after.owners, allocation) ?? ownerOf(before, allocation);
    if (from >= to || (!allocation.isCertain && owner === undefined)) continue;
    yield { holder: { id: allocation.id, owner, isGone: to < toMs }, fromMs: from, toMs: to };
  }
}

const ownerOf = (
  owners: readonly TickOwner[] | undefined,
  { workloads }: Allocation,
): TickOwner | undefined =>
  owners?.find(
    ({ labels: { workload } }) => workload !== undefined && workloads.includes(workload),
  );

/** Owners that are not jobs of the scheduler: for its own jobs, the scheduler's data is more accurate than observation. */
function* seenSpans(
  { fromMs, toMs, isGap, before = [], after }: EnergyInterval,
  allocations: readonly Allocation[],
): Generator<Span> {
  const middleMs = fromMs + Math.floor((toMs - fromMs) / 2);
  const isScheduled = ({ workload }: OwnerLabels): boolean =>
    workload !== undefined && allocations.some(({ workloads }) => workloads.includes(workload));
  const keyed = (owners: readonly TickOwner[]): Map<string, GpuHolder> => {
    const holders = new Map<string, GpuHolder>();
    for (const owner of owners) {
      if (isScheduled(owner.labels)) continue;
      const job = identifyJob(owner.labels, after.host);
      const other = holders.get(job.key)?.owner;
      holders.set(job.key, { job, owner: other === undefined ? owner : merge(other, owner) });
    }
    return holders;
  };
  const [first, last] = [keyed(before), keyed(after.owners ?? [])];
  for (const [key, holder] of last) {
    if (first.has(key)) yield { holder, fromMs, toMs };
    else if (!isGap && middleMs < toMs) yield { holder, fromMs: middleMs, toMs };
  }
  if (isGap) return;
  for (const [key, holder] of first)
    if (!last.has(key) && fromMs < middleMs)
      yield { holder: { ...holder, isGone: true }, fromMs, toMs: middleMs };
}

/** Merges the containers of one pod, or the processes that one job runs as several users. */
function merge(left: TickOwner, right: TickOwner): TickOwner {
  const sum = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined || b === undefined ? undefined : a + b;
  return {
    labels: left.labels,
    memoryBytes: sum(left.memoryBytes, right.memoryBytes),
    peakMemoryBytes: sum(
      left.peakMemoryBytes ?? left.memoryBytes,
      right.peakMemoryBytes ?? right.memoryBytes,
    ),
    utilizationRatio: sum(left.utilizationRatio, right.utilizationRatio),
  };
}

/** Each holder's share of the energy; the shares add up to 1. */
export function energyShares(holders: readonly GpuHolder[]): {
  readonly rule: EnergyRule;
  readonly shares: readonly number[];
} {
  if (holders.length <= 1) return { rule: "exclusive", shares: holders.map(() => 1) };
  // An allocation without a process on the GPU used none of its time.
  const ratios = holders.map(({ id, owner }) =>
    owner === undefined && id !== undefined ? 0 : owner?.utilizationRatio,
  );
  const total = ratios.reduce<number>((sum, ratio) => sum + (ratio ?? Number.NaN), 0);
  if (total > 0)
    return { rule: "process_share", shares: ratios.map((ratio) => (ratio ?? 0) / total) };
  return { rule: "equal_split", shares: holders.map(() => 1 / holders.length) };
}

const noGrowth: Counts = {};

type Counts = Readonly<Record<string, number>>;

/** The increase of counters; after a reset, the counter's value. */
function growth(before: Counts | undefined, now: Counts | undefined): Counts | undefined {
  if (now === undefined) return undefined;
  let grown: Record<string, number> | undefined;
  for (const name in now) {
    const value = now[name] ?? 0;
    // Without an earlier reading the increase is unknown.
    const base = before === undefined ? value : (before[name] ?? 0);
    const more = value < base ? value : value - base;
    if (more > 0) (grown ??= {})[name] = more;
  }
  return grown ?? noGrowth;
}

export function scaled(counts: Counts | undefined, part: number): Counts | undefined {
  if (counts === undefined || part === 1) return counts;
  return Object.fromEntries(Object.entries(counts).map(([name, value]) => [name, value * part]));
}
