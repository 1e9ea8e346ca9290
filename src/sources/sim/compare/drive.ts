/** Turns recorded phases into demand. The phases say what ran; the trace's own utilisation, where asked for, says when it stalled. */
import type { Kernel } from "../kernels.ts";
import { busyAt, kernelNamed, kernels } from "../kernels.ts";
import type { Demand } from "../physics/demand.ts";
import { noDemand } from "../physics/demand.ts";
import type { GpuModel } from "../physics/model.ts";
import { usualLagMs, utilizationLagMs } from "./lag.ts";
import type { Phase, TraceRow } from "./trace.ts";
import { rowAt } from "./trace.ts";

/** The first reading that is wholly of the new phase. */
const utilizationSettledMs = 500;
const contextBytes = 200 * 1_048_576;
/** Points looked at within one step, so that an edge inside a step counts for the part it covers. */
const points = 5;

export interface DriveOptions {
  /** Whether the trace's utilisation column times the stalls and bursts inside a phase. */
  readonly useUtilization: boolean;
}

export class Drive {
  readonly #phases: readonly Phase[];
  readonly #rows: readonly TraceRow[];
  readonly #useUtilization: boolean;
  readonly #contextAbove: number;
  readonly #lagMs: ReadonlyMap<Phase, number>;

  constructor(
    phases: readonly Phase[],
    rows: readonly TraceRow[],
    model: GpuModel,
    options: DriveOptions,
  ) {
    this.#phases = phases;
    this.#rows = rows;
    this.#useUtilization = options.useUtilization;
    this.#lagMs = new Map(
      phases.map((phase) => [phase, utilizationLagMs(phase, rows, model.power.windowMs)]),
    );
    const least = rows.reduce(
      (min, row) => Math.min(min, row.memoryBytes),
      Number.POSITIVE_INFINITY,
    );
    this.#contextAbove =
      least < model.memory.reservedBytes + contextBytes ? least + contextBytes : -1;
  }

  holdsContext(timeMs: number): boolean {
    return rowAt(this.#rows, timeMs).memoryBytes > this.#contextAbove;
  }

  /** The mean demand over one step. */
  over(startMs: number, stepMs: number): Demand {
    const demand = noDemand();
    let busy = 0;
    for (let point = 0; point < points; point++) {
      const timeMs = startMs + ((point + 0.5) * stepMs) / points;
      const { kernel, share } = this.#at(timeMs);
      busy += share;
      demand.core += share * kernel.core;
      demand.dram += share * kernel.dram;
      demand.memoryBusy += share * kernel.memoryBusy;
      demand.tensor += share * kernel.tensor;
      demand.receive += (share * kernel.receive) / points;
      demand.transmit += (share * kernel.transmit) / points;
    }
    if (busy > 0) {
      demand.core /= busy;
      demand.dram /= busy;
      demand.memoryBusy /= busy;
      demand.tensor /= busy;
    }
    demand.busy = busy / points;
    demand.memoryBytes = rowAt(this.#rows, startMs).memoryBytes;
    demand.context = demand.memoryBytes > this.#contextAbove;
    return demand;
  }

  #at(timeMs: number): { kernel: Kernel; share: number } {
    const phase = this.#phases.find(({ startMs, endMs }) => timeMs >= startMs && timeMs < endMs);
    const name = phase === undefined ? undefined : kernelNamed(phase.name);
    if (name === "idle") return { kernel: kernels.idle, share: 0 };
    const duty = /duty(\d+)/.exec(phase?.name ?? "")?.[1];
    if (
      phase !== undefined &&
      name !== undefined &&
      (duty !== undefined || !this.#useUtilization)
    ) {
      const { pattern } = kernels[name];
      const share =
        duty === undefined
          ? busyAt(pattern, timeMs - phase.startMs)
          : dutyAt(Number(duty), timeMs - phase.startMs);
      return { kernel: kernels[name], share };
    }
    if (!this.#useUtilization)
      return {
        kernel: phase === undefined ? kernels.idle : kernels.generic,
        share: phase === undefined ? 0 : 0.5,
      };
    const row = rowAt(this.#rows, readingFor(timeMs, phase, this.#lagMs));
    return {
      kernel: name === undefined ? genericKernel(row) : kernels[name],
      share: row.utilization,
    };
  }
}

/** When the reading was taken that shows what ran at an instant: later, but never of the phase before or after. */
function readingFor(
  timeMs: number,
  phase: Phase | undefined,
  lagsMs: ReadonlyMap<Phase, number>,
): number {
  if (phase === undefined) return timeMs + usualLagMs;
  const settled = Math.min(phase.startMs + utilizationSettledMs, phase.endMs);
  return Math.min(phase.endMs, Math.max(timeMs + (lagsMs.get(phase) ?? usualLagMs), settled));
}

const dutyPeriodMs = 200;

function dutyAt(percent: number, sinceStartMs: number): number {
  return sinceStartMs % dutyPeriodMs < (percent / 100) * dutyPeriodMs ? 0.95 : 0;
}

/** Unnamed work: compute as usual, memory traffic as the controller's counter says. */
function genericKernel(row: TraceRow): Kernel {
  const memoryBusy = row.utilization > 0 ? Math.min(1, row.memoryUtilization / row.utilization) : 0;
  return {
    ...kernels.generic,
    core: kernels.generic.core * (1 - 0.8 * memoryBusy ** 2),
    dram: 0.88 * memoryBusy,
    memoryBusy,
  };
}
