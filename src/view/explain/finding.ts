/** The result of a sign: a cause on some GPUs, its start, and the numbers with the PromQL that returns them. */
import { selector } from "../../lake/analyses/anomaly/detectors/detector.ts";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { CauseName } from "./causes.ts";
import type { CauseEvidence } from "./explanation.ts";
import type { CellField, FleetCells, GpuCells } from "./fleet-cells.ts";
import { type CellGrid, cellMs } from "./grid.ts";

export interface Finding {
  readonly cause: CauseName;
  readonly gpus: readonly GpuCells[];
  readonly sinceMs: number;
  /** True if it began before the history that was read. */
  readonly isOlder: boolean;
  /** 0 to 1. */
  readonly confidence: number;
  /** A clause without a subject: the caller adds the name of the GPU. */
  readonly summary: string;
  readonly evidence: readonly CauseEvidence[];
  /** A section of the runbook that fits better than that of its cause. */
  readonly runbook?: string;
}

export interface SignContext {
  readonly fleet: FleetCells;
  /** The GPUs to explain. */
  readonly scope: readonly GpuCells[];
}

/** Number of the newest decidable cells that a sign uses: three minutes. */
export const focusCells = 9;
/** A sign that has not been decidable for longer than this is no longer reported. */
export const focusWithinMs = 40 * 60_000;

/** Returns the newest cells for which a sign can be decided, oldest first. */
export function newestCells(
  grid: CellGrid,
  isDecidable: (cell: number) => boolean,
  count = focusCells,
  withinMs = focusWithinMs,
): number[] {
  const found: number[] = [];
  for (let cell = grid.cellCount - 1; cell >= grid.since(withinMs) && found.length < count; cell--)
    if (isDecidable(cell)) found.unshift(cell);
  return found;
}

/** Mean of a field over the cells (end - count, end]. */
export function meanOver(cells: Float64Array, endCell: number, count = focusCells): number {
  let sum = 0;
  let seen = 0;
  for (let cell = Math.max(0, endCell - count + 1); cell <= endCell; cell++) {
    const value = cells[cell] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    sum += value;
    seen += 1;
  }
  return seen === 0 ? Number.NaN : sum / seen;
}

/** Confidence of a statistic. `ratio` is the departure divided by its threshold. */
export const confidenceOf = (ratio: number, most = 0.95): number =>
  0.6 + (most - 0.6) * (1 - Math.exp(1 - Math.max(1, ratio)));

const metricOf: Readonly<Partial<Record<CellField, readonly [MetricEntry, extra?: string]>>> = {
  up: [gpu.up],
  power: [gpu.power],
  utilization: [gpu.utilization],
  memoryUtilization: [gpu.memoryControllerUtilization],
  memoryBytes: [gpu.memoryUsed],
  edge: [gpu.temperature, ',sensor="edge"'],
  hotspot: [gpu.temperature, ',sensor="hotspot"'],
  memoryCelsius: [gpu.temperature, ',sensor="memory"'],
  clock: [gpu.clock, ',domain="graphics"'],
  fan: [gpu.fanSpeed],
  heatThrottled: [gpu.throttleActive, ',reason=~"thermal|thermal_hardware"'],
  braked: [gpu.throttleActive, ',reason="power_brake"'],
  clockSetting: [gpu.throttleActive, ',reason="clock_setting"'],
  powerLimit: [gpu.powerLimit],
  linkGeneration: [gpu.pcieLinkGeneration],
  linkWidth: [gpu.pcieLinkWidth],
  linkReplays: [gpu.pcieReplays],
  eccCorrected: [gpu.eccErrors, ',type="corrected"'],
  eccUncorrected: [gpu.eccErrors, ',type="uncorrected"'],
  interconnectErrors: [gpu.interconnectErrors],
};

export const seconds = (ms: number): string => (ms / 1_000).toFixed(3);

const orNull = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : value;

export class EvidenceWriter {
  readonly #grid: CellGrid;
  readonly #cells: GpuCells;

  constructor({ grid }: FleetCells, cells: GpuCells) {
    this.#grid = grid;
    this.#cells = cells;
  }

  selector(field: CellField): string {
    const [metric, extra = ""] = metricOf[field] ?? [gpu.up];
    return selector(metric.name, this.#cells.gpu, extra);
  }

  /** Mean over the three minutes that end with a cell. */
  mean(
    field: CellField,
    endCell: number,
    usual?: number,
    sigmas?: number,
    count = focusCells,
  ): CauseEvidence[] {
    return this.#over(
      field,
      "avg_over_time",
      meanOver(this.#cells.get(field), endCell, count),
      endCell,
      count,
      usual,
      sigmas,
    );
  }

  max(
    field: CellField,
    endCell: number,
    usual?: number,
    sigmas?: number,
    count = focusCells,
  ): CauseEvidence[] {
    const cells = this.#cells.get(field);
    let most = Number.NaN;
    for (let cell = Math.max(0, endCell - count + 1); cell <= endCell; cell++) {
      const value = cells[cell] ?? Number.NaN;
      if (!Number.isNaN(value)) most = Number.isNaN(most) ? value : Math.max(most, value);
    }
    return this.#over(field, "max_over_time", most, endCell, count, usual, sigmas);
  }

  /** The newest value. */
  last(field: CellField, usual?: number): CauseEvidence[] {
    const value = this.#cells.last(field);
    return this.#write(
      field,
      value,
      `last_over_time(${this.selector(field)}[10m] @ ${seconds(this.#grid.timeMs)})`,
      usual,
    );
  }

  /** Growth of a counter from an instant to the time of the explanation. */
  growth(field: CellField, value: number, sinceMs: number, usual?: number): CauseEvidence[] {
    const one = this.selector(field);
    return this.#write(
      field,
      value,
      `sum(last_over_time(${one}[5m] @ ${seconds(this.#grid.timeMs)})) - sum(last_over_time(${one}[5m] @ ${seconds(sinceMs)}))`,
      usual,
    );
  }

  #over(
    field: CellField,
    name: string,
    value: number,
    endCell: number,
    count: number,
    usual: number | undefined,
    sigmas: number | undefined,
  ): CauseEvidence[] {
    const end = seconds(this.#grid.endMs[endCell] ?? this.#grid.timeMs);
    const span = `${(count * cellMs) / 1_000}s`;
    const many = field === "fan" || field === "heatThrottled";
    const query = `${name}(${this.selector(field)}[${span}] @ ${end})`;
    return this.#write(field, value, many ? `max(${query})` : query, usual, sigmas);
  }

  #write(
    field: CellField,
    value: number | undefined,
    promql: string,
    usual?: number,
    sigmas?: number,
  ): CauseEvidence[] {
    const [metric] = metricOf[field] ?? [gpu.up];
    // A missing value is no evidence.
    if (value === undefined || !Number.isFinite(value)) return [];
    return [
      {
        metric: metric.name,
        value,
        unit: metric.unit,
        usual: orNull(usual),
        sigmas: orNull(sigmas),
        promql,
      },
    ];
  }
}

/** Start time of the first departing cell. */
export function sinceCell(grid: CellGrid, cell: number): Pick<Finding, "sinceMs" | "isOlder"> {
  return { sinceMs: grid.startMs(cell), isOlder: cell <= grid.recentCell };
}
