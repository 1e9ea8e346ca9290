/**
 * What temperatures a GPU's power explains. A robust fit over all GPUs of a model, each with an offset of its own, predicts
 * the chip and the memory from the power now and from the heat that the airflow has left in the heatsink; what is above that
 * is not the load. The chip over the memory needs no heatsink at all: both sit on the same one, so air and room cancel out.
 */
import type { FleetCells, GpuCells } from "./fleet-cells.ts";
import { cellMs } from "./grid.ts";
import { fitRobust, quantileOf } from "./statistics.ts";

/** Time constants of heatsinks at full airflow: small and large ones; the fit mixes them. */
const sinkSeconds = [30, 120] as const;
/** Convection follows the airflow to this power; without a fan that turns, some air still moves. */
const convectionPower = 0.8;
const stillAir = 0.05;
/** All columns of a fit are smoothed alike: sensors and counters are read at single instants. */
const smoothSeconds = 80;
/** After a gap nobody knows what the card did before. */
const settleCells = 9;
const leastRows = 60;
const leastSigma = 0.3;

/** Kelvins above the prediction, by cell. */
export interface HeatFit {
  readonly residuals: ReadonlyMap<GpuCells, Float64Array>;
  readonly sigma: number;
}

export interface HeatFits {
  readonly die: HeatFit;
  readonly memory: HeatFit;
  /** The chip over its memory. */
  readonly contact: HeatFit;
}

type Columns = "share" | "small" | "large" | "load" | "die" | "memory" | "contact";

/** Smoothed columns of one GPU, a number for each row. */
interface HeatRows {
  readonly cells: GpuCells;
  readonly rows: readonly number[];
  readonly columns: Readonly<Record<Columns, readonly number[]>>;
}

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

/** The power that shares are of. */
export const scaleWattsOf = (cells: GpuCells): number =>
  cells.last("powerLimit") ?? Math.max(300, quantileOf(cells.get("power"), 1) || 0);

function heatRows({ grid }: FleetCells, cells: GpuCells): HeatRows {
  const power = cells.get("power");
  const load = cells.get("memoryUtilization");
  const fan = cells.get("fan");
  const dieCelsius = cells.get(cells.celsiusField);
  const memoryCelsius = cells.get("memoryCelsius");
  const scaleWatts = scaleWattsOf(cells);
  const rows: number[] = [];
  const columns: Record<Columns, number[]> = {
    share: [],
    small: [],
    large: [],
    load: [],
    die: [],
    memory: [],
    contact: [],
  };
  const smooth = { share: 0, small: 0, large: 0, load: 0, die: 0, memory: 0, contact: 0 };
  const names = Object.keys(smooth) as Columns[];
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
    const now = {
      share,
      small: sinks[0] ?? share,
      large: sinks[1] ?? share,
      load: load[cell] || 0,
      die,
      memory,
      contact: die - memory,
    };
    const left = isNew ? 0 : Math.exp(-gapSeconds / smoothSeconds);
    for (const name of names) {
      const was = smooth[name];
      // After a reading that is missing, it begins again.
      smooth[name] = Number.isNaN(was) ? now[name] : now[name] + (was - now[name]) * left;
    }
    settled = isNew ? 0 : settled + 1;
    if (settled < settleCells) continue;
    rows.push(cell);
    for (const name of names) columns[name].push(smooth[name]);
  }
  return { cells, rows, columns };
}

function fitColumn(
  { grid }: FleetCells,
  all: readonly HeatRows[],
  target: Columns,
  inputNames: readonly Columns[],
): HeatFit {
  const inputCount = inputNames.length;
  const most = all.reduce((sum, { rows }) => sum + rows.length, 0);
  const inputs = new Float64Array(most * inputCount);
  const targets = new Float64Array(most);
  const groups = new Int32Array(most);
  let count = 0;
  all.forEach(({ columns }, group) => {
    columns[target].forEach((celsius, row) => {
      if (Number.isNaN(celsius)) return;
      inputNames.forEach((name, at) => {
        inputs[count * inputCount + at] = columns[name][row] as number;
      });
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
    all.map(({ cells, rows, columns }, group) => {
      const above = new Float64Array(grid.cellCount).fill(Number.NaN);
      rows.forEach((cell, row) => {
        let value = (columns[target][row] as number) - (offsets[group] as number);
        inputNames.forEach((name, at) => {
          value -= (weights[at] as number) * (columns[name][row] as number);
        });
        above[cell] = value;
      });
      return [cells, above] as const;
    }),
  );
  return { residuals, sigma };
}
