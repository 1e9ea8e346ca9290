/** A running job: the growing sums of its stretch on each GPU and of each hour. */
import { defined } from "../../base/defined.ts";
import {
  dayMs,
  dayOf,
  type EnergyRule,
  hourMs,
  type JobDayPart,
  type JobHour,
  type JobRecord,
  type JobStretch,
} from "./record.ts";
import type { GpuTick } from "./tick.ts";

export type TickDevice = Pick<GpuTick, "uuid" | "host" | "gpu" | "model" | "simulated">;

/** Sums for the means: seconds and value × seconds. */
interface MeanSums {
  memory: [number, number];
  tensor: [number, number];
  dram: [number, number];
  activity: [number, number];
}

export interface OpenStretch {
  readonly stretch: JobStretch;
  readonly sums: MeanSums;
  /** True if the job is no longer observed on this GPU, and the GPU has reported for long enough since. */
  isOver: boolean;
  /** Since when the GPU has been held without being used; undefined while it is used, and if activity is unknown. */
  idleSinceMs: number | undefined;
}

/** The idle time of a piece of an interval. */
export interface IdleTime {
  readonly seconds: number;
  /**
   * The start of the idle time that continues at the end of the piece, within the piece; undefined if the GPU was used at its
   * end.
   */
  readonly sinceMs: number | undefined;
}

/** One holder's share of a piece of an interval. */
export interface HeldPiece {
  readonly fromMs: number;
  readonly toMs: number;
  readonly joules: number;
  readonly rule: EnergyRule;
  readonly idle: IdleTime | undefined;
  readonly isUnobserved: boolean;
  readonly memoryBytes: number | undefined;
  /** Absent if equal to `memoryBytes`. */
  readonly peakMemoryBytes: number | undefined;
  readonly tensorRatio: number | undefined;
  readonly dramRatio: number | undefined;
  readonly activityRatio: number | undefined;
  readonly throttleSeconds: Readonly<Record<string, number>> | undefined;
  readonly xids: Readonly<Record<string, number>> | undefined;
  readonly anomalies: readonly string[];
  readonly neighbours: readonly string[];
}

export interface OpenJobState {
  readonly job: JobRecord;
  readonly sums: readonly MeanSums[];
  readonly over: readonly boolean[];
  /** `idleSinceMs` of each stretch, 0 for none; absent in journals of earlier versions. */
  readonly idle?: readonly number[] | undefined;
  readonly hours: readonly JobHour[];
}

const mostNeighbours = 16;
const mostNames = 64;
/** Hours held in memory; older ones are written to the file of their day. */
const mostHours = 72;

const noParts: readonly { readonly day: string; readonly part: JobDayPart }[] = [];

export class OpenJob {
  readonly record: JobRecord;
  readonly stretches = new Map<string, OpenStretch>();
  readonly #hours = new Map<number, [number, number, number, number]>();

  constructor(record: JobRecord) {
    this.record = record;
  }

  static restore(
    { job, sums, over, idle, hours }: OpenJobState,
    key: (of: TickDevice) => string,
  ): OpenJob {
    const open = new OpenJob(job);
    job.stretches.forEach((stretch, at) => {
      const of = sums[at] ?? emptySums();
      open.stretches.set(key(stretch), {
        stretch,
        sums: of,
        isOver: over[at] ?? false,
        idleSinceMs: idle?.[at] || undefined,
      });
    });
    for (const [hour, ...use] of hours) open.#hours.set(hour, use);
    return open;
  }

  state(): OpenJobState {
    const open = [...this.stretches.values()];
    return {
      job: this.record,
      sums: open.map(({ sums }) => sums),
      over: open.map(({ isOver }) => isOver),
      idle: open.map(({ idleSinceMs = 0 }) => idleSinceMs),
      hours: this.hours(),
    };
  }

  hours(): JobHour[] {
    return [...this.#hours].map(([hour, use]) => [hour, ...use] as const);
  }

  get isOver(): boolean {
    for (const { isOver } of this.stretches.values()) if (!isOver) return false;
    return true;
  }

  /** Adds a piece and returns its stretch on the GPU, for `addTo`. */
  add(key: string, device: TickDevice, piece: HeldPiece): OpenStretch {
    let open = this.stretches.get(key);
    if (open === undefined) {
      const stretch = emptyStretch(device, piece.fromMs);
      this.stretches.set(
        key,
        (open = {
          stretch,
          sums: emptySums(),
          isOver: false,
          idleSinceMs: undefined,
        }),
      );
      this.record.stretches.push(stretch);
    }
    this.addTo(open, piece);
    return open;
  }

  addTo(open: OpenStretch, piece: HeldPiece): void {
    open.isOver = false;
    const { idle } = piece;
    // A piece that is idle from its start may continue an earlier idle time.
    const wasIdle = idle?.sinceMs === piece.fromMs;
    open.idleSinceMs = wasIdle ? (open.idleSinceMs ?? piece.fromMs) : idle?.sinceMs;
    addToStretch(open, piece);
    const { record } = this;
    record.startMs = Math.min(record.startMs, piece.fromMs);
    record.endMs = Math.max(record.endMs, piece.toMs);
    const hour = Math.floor(piece.fromMs / hourMs);
    let use = this.#hours.get(hour);
    if (use === undefined) this.#hours.set(hour, (use = [0, 0, 0, 0]));
    const seconds = (piece.toMs - piece.fromMs) / 1_000;
    use[0] += seconds;
    if (idle !== undefined) {
      use[1] += seconds - idle.seconds;
      use[2] += idle.seconds;
    }
    use[3] += piece.joules;
  }

  /**
   * Only the scheduler knows what a job held between two listings, or on a machine without an agent: this is spread evenly over
   * the job's hours, without GPUs or activity.
   */
  addUnplaced(endMs: number): void {
    const { stretches, scheduler } = this.record;
    const { allocatedGpus = 0, startMs = endMs, suspendedSeconds = 0 } = scheduler ?? {};
    const heldSeconds = allocatedGpus * ((endMs - startMs) / 1_000 - suspendedSeconds);
    const placedSeconds = stretches.reduce((sum, { gpuSeconds }) => sum + gpuSeconds, 0);
    const unplacedSeconds = heldSeconds - placedSeconds;
    // Slurm's times are whole seconds.
    if (unplacedSeconds < 1) return;
    for (let at = startMs; at < endMs;) {
      const until = Math.min(endMs, Math.floor(at / hourMs) * hourMs + hourMs);
      const use = this.#hours.get(Math.floor(at / hourMs)) ?? [0, 0, 0, 0];
      use[0] += (unplacedSeconds * (until - at)) / (endMs - startMs);
      this.#hours.set(Math.floor(at / hourMs), use);
      at = until;
    }
    this.record.unplacedGpuSeconds = unplacedSeconds;
  }

  /** True if there are more hours than should stay in memory. */
  get hasOldHours(): boolean {
    return this.#hours.size > mostHours;
  }

  /** Removes and returns whole days that are too many to hold, or all of them. */
  takeParts(all: boolean): readonly { readonly day: string; readonly part: JobDayPart }[] {
    if (!all && this.#hours.size <= mostHours) return noParts;
    const newest = Math.max(...this.#hours.keys()) * hourMs;
    const keepFromMs = all ? Number.POSITIVE_INFINITY : Math.floor(newest / dayMs) * dayMs - dayMs;
    const days = new Map<string, JobHour[]>();
    for (const [hour, use] of this.#hours) {
      if (hour * hourMs >= keepFromMs) continue;
      const day = dayOf(hour * hourMs);
      days.set(day, [...(days.get(day) ?? []), [hour, ...use]]);
      this.#hours.delete(hour);
    }
    return [...days].map(([day, hours]) => ({ day, part: this.part(hours) }));
  }

  part(hours: readonly JobHour[]): JobDayPart {
    const { id, name, kind, user, account, namespace, controller } = this.record;
    return { id, name, kind, ...defined({ user, account, namespace, controller }), hours };
  }
}

function addToStretch({ stretch, sums }: OpenStretch, piece: HeldPiece): void {
  const seconds = (piece.toMs - piece.fromMs) / 1_000;
  stretch.fromMs = Math.min(stretch.fromMs, piece.fromMs);
  stretch.toMs = Math.max(stretch.toMs, piece.toMs);
  stretch.gpuSeconds += seconds;
  if (piece.idle === undefined) stretch.unknownSeconds += seconds;
  else {
    stretch.usefulSeconds += seconds - piece.idle.seconds;
    stretch.heldIdleSeconds += piece.idle.seconds;
  }
  if (piece.isUnobserved) stretch.unobservedSeconds += seconds;
  stretch.joules += piece.joules;
  stretch.joulesByRule[piece.rule] = (stretch.joulesByRule[piece.rule] ?? 0) + piece.joules;
  const peakBytes = piece.peakMemoryBytes ?? piece.memoryBytes;
  if (peakBytes !== undefined)
    stretch.peakMemoryBytes = Math.max(stretch.peakMemoryBytes ?? 0, peakBytes);
  stretch.meanMemoryBytes = mean(sums.memory, piece.memoryBytes, seconds);
  stretch.meanTensorRatio = mean(sums.tensor, piece.tensorRatio, seconds);
  stretch.meanDramRatio = mean(sums.dram, piece.dramRatio, seconds);
  stretch.meanActivityRatio = mean(sums.activity, piece.activityRatio, seconds);
  addCounts(stretch.throttledSeconds, piece.throttleSeconds);
  addCounts(stretch.xids, piece.xids);
  addNames(stretch.anomalies, piece.anomalies, mostNames);
  addNames(stretch.neighbours, piece.neighbours, mostNeighbours);
}

function mean(
  sums: [number, number],
  value: number | undefined,
  seconds: number,
): number | undefined {
  if (value !== undefined) {
    sums[0] += seconds;
    sums[1] += value * seconds;
  }
  return sums[0] === 0 ? undefined : sums[1] / sums[0];
}

function addCounts(
  counts: Record<string, number>,
  more: Readonly<Record<string, number>> | undefined,
): void {
  for (const name in more) {
    const grown = more[name] ?? 0;
    if (grown > 0 && (name in counts || Object.keys(counts).length < mostNames))
      counts[name] = (counts[name] ?? 0) + grown;
  }
}

function addNames(names: string[], more: readonly string[], most: number): void {
  for (const name of more) if (names.length < most && !names.includes(name)) names.push(name);
}

const emptySums = (): MeanSums => ({
  memory: [0, 0],
  tensor: [0, 0],
  dram: [0, 0],
  activity: [0, 0],
});

const emptyStretch = (
  { uuid, host, gpu, model, simulated }: TickDevice,
  fromMs: number,
): JobStretch => ({
  uuid,
  host,
  gpu,
  model,
  simulated,
  fromMs,
  toMs: fromMs,
  gpuSeconds: 0,
  usefulSeconds: 0,
  heldIdleSeconds: 0,
  unknownSeconds: 0,
  joules: 0,
  joulesByRule: {},
  unobservedSeconds: 0,
  throttledSeconds: {},
  xids: {},
  anomalies: [],
  neighbours: [],
});
