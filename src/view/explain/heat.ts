/**
 * Predicts a GPU's temperatures from its power. A robust fit over all GPUs of a model, with an offset per GPU, predicts chip and
 * memory from the current power and from the heat stored in the heatsink; a temperature above that is not caused by load. The
 * difference between chip and memory needs no heatsink model: both sit on the same one, so air and room temperature cancel out.
 */
import type { FleetCells, GpuCells } from "./fleet-cells.ts";
import { cellMs } from "./grid.ts";
import { fitRobust, quantileOf } from "./statistics.ts";

/** Time constants of a small and a large heatsink at full airflow; the fit combines them. */
const sinkSeconds = [30, 120] as const;
/** Exponent of convection over the airflow, and the share of airflow that remains when the fan stands still. */
const convectionPower = 0.8;
const stillAir = 0.05;
/** Sensors and counters are read at single instants, so all columns of a fit are smoothed in the same way. */
const smoothSeconds = 80;
/** Cells to skip after a gap, because the card's load before it is unknown. */
const settleCells = 9;
const leastRows = 60;
const leastSigma = 0.3;

/** Kelvins above the prediction, per cell. */
export interface HeatFit {
  readonly residuals: ReadonlyMap<GpuCells, Float64Array>;
  readonly sigma: number;
}

export interface HeatFits {
  readonly die: HeatFit;
  readonly memory: HeatFit;
  /** The chip relative to its memory. */
  readonly contact: HeatFit;
}

const columnNames = ["share", "small", "large", "load", "die", "memory", "contact"] as const;
type ColumnName = (typeof columnNames)[number];

/** Smoothed columns of one GPU, with one number per row. */
interface HeatRows {
  readonly cells: GpuCells;
  /** The cell of each row. */
  readonly rows: Int32Array;
  readonly columns: ReadonlyMap<ColumnName, Float64Array>;
}

const noRows = new Float64Array(0);
const columnOf = ({ columns }: HeatRows, name: ColumnName): Float64Array =>
  columns.get(name) ?? noRows;

export function fitHeat(fleet: FleetCells, model: string): HeatFits {
  const all = fleet.gpus
    .filter(({ gpu }) => gpu.model === model)
    .map((cells) => heatRows(fleet, cells));
  const withSink = ["share", "small", "large", "load"] as const;
  return {
    die: fitColumn(fleet, all, "die", withSink),
    memory: fitColumn(fleet, all, "memory", withSink),
    contact: fitColumn(fleet, all, "contact", ["share", "load"]),
  };
}

/** The power that shares are relative to: the power limit, or at least 300 W. */
export const scaleWattsOf = (cells: GpuCells): number =>
  cells.last("powerLimit") ?? Math.max(300, quantileOf(cells.get("power"), 1) || 0);

function heatRows({ grid }: FleetCells, cells: GpuCells): HeatRows {
  const power = cells.get("power");
  const load = cells.get("memoryUtilization");
  const fan = cells.get("fan");
  const dieCelsius = cells.get(cells.celsiusField);
  const memoryCelsius = cells.get("memoryCelsius");
  const scaleWatts = scaleWattsOf(cells);
  const rows = new Int32Array(power.length);
  const columns = columnNames.map(() => new Float64Array(power.length));
  const now = new Float64Array(columnNames.length);
  const smooth = new Float64Array(columnNames.length);
  let count = 0;
  const sinks = sinkSeconds.map(() => 0);
  let settled = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (let cell = 0; cell < power.length; cell++) {
    const share = (power[cell] as number) / scaleWatts;
    const die = dieCelsius[cell] ?? Number.NaN;
    if (Number.isNaN(share) || Number.isNaN(die)) continue;
    const nowMs = grid.endMs[cell] as number;
    const gapSeconds = (nowMs - lastMs) / 1_000;
    lastMs = nowMs;
    const isNew = gapSeconds * 1_000 > 5 * cellMs;
    const flow = cells.has("fan") ? Math.max(stillAir, fan[cell] || 0) ** convectionPower : 1;
    const settledSink = share / flow;
    sinkSeconds.forEach((seconds, at) => {
      const left = isNew ? 0 : Math.exp((-gapSeconds * flow) / seconds);
      sinks[at] = settledSink + ((sinks[at] as number) - settledSink) * left;
    });
    const memory = memoryCelsius[cell] ?? Number.NaN;
    // In the order of `columnNames`.
    now[0] = share;
    now[1] = sinks[0] ?? share;
    now[2] = sinks[1] ?? share;
    now[3] = load[cell] || 0;
    now[4] = die;
    now[5] = memory;
    now[6] = die - memory;
    const left = isNew ? 0 : Math.exp(-gapSeconds / smoothSeconds);
    for (let at = 0; at < now.length; at++) {
      const was = smooth[at] as number;
      const is = now[at] as number;
      // The smoothing restarts after a missing reading.
      smooth[at] = Number.isNaN(was) ? is : is + (was - is) * left;
    }
    settled = isNew ? 0 : settled + 1;
    if (settled < settleCells) continue;
    rows[count] = cell;
    columns.forEach((column, at) => (column[count] = smooth[at] as number));
    count += 1;
  }
  return {
    cells,
    rows: rows.subarray(0, count),
    columns: new Map(
      columnNames.map((name, at) => [name, (columns[at] ?? noRows).subarray(0, count)]),
    ),
  };
}

function fitColumn(
  { grid }: FleetCells,
  all: readonly HeatRows[],
  target: ColumnName,
  inputNames: readonly ColumnName[],
): HeatFit {
  const inputCount = inputNames.length;
  const most = all.reduce((sum, { rows }) => sum + rows.length, 0);
  const inputs = new Float64Array(most * inputCount);
  const targets = new Float64Array(most);
  const groups = new Int32Array(most);
  let count = 0;
  all.forEach((one, group) => {
    const own = inputNames.map((name) => columnOf(one, name));
    columnOf(one, target).forEach((celsius, row) => {
      if (Number.isNaN(celsius)) return;
      own.forEach((column, at) => (inputs[count * inputCount + at] = column[row] as number));
      targets[count] = celsius;
      groups[count] = group;
      count += 1;
    });
  });
  if (count < leastRows) return { residuals: new Map(), sigma: Number.NaN };
  const { weights, offsets, sigma } = fitRobust(
    {
      inputCount,
      inputs: inputs.subarray(0, count * inputCount),
      targets: targets.subarray(0, count),
      groups: groups.subarray(0, count),
      groupCount: all.length,
    },
    leastSigma,
  );
  const residuals = new Map(
    all.map((one, group) => {
      const above = new Float64Array(grid.cellCount).fill(Number.NaN);
      const own = inputNames.map((name) => columnOf(one, name));
      const celsius = columnOf(one, target);
      one.rows.forEach((cell, row) => {
        let value = (celsius[row] as number) - (offsets[group] as number);
        for (let at = 0; at < inputCount; at++)
          value -= (weights[at] as number) * ((own[at] as Float64Array)[row] as number);
        above[cell] = value;
      });
      return [one.cells, above] as const;
    }),
  );
  return { residuals, sigma };
}
