/**
 * Measures how fast a program works by two effects of the work: memory traffic, and power at its clock. A GPU that does a share of
 * its work shows that share in both; a program with a different mix of work has more of one and less of the other. Statistics only:
 * the signs decide what is reported.
 */
import { kindOfWork } from "../../lake/analyses/anomaly/work.ts";
import type { FleetCells, GpuCells } from "./fleet-cells.ts";
import { fitRobust, medianOf, quantileOf, sigmaOf } from "./statistics.ts";

const busyShare = 0.15;
/** Skips the start of a program, which loads its data first. */
const startCells = 2;
export const leastRunCells = 6;
/** Share of the model's usual clock. At lower clocks, power says little about work. */
const nearClock = 0.85;
/** Power of the chip grows with f·V². Including the memory's share, which does not depend on the clock, the exponent is about this. */
const clockExponent = 1.5;

/** One program on one GPU: its cells, and the logarithm of each measure in them. */
export interface WorkRun {
  readonly cells: GpuCells;
  readonly kind: string;
  readonly at: readonly number[];
  readonly utilization: readonly number[];
  /** Memory traffic while busy. */
  readonly traffic: number[];
  /** Power above idle while busy, scaled to the model's usual clock; NaN if unknown. */
  readonly power: number[];
}

/** Both measures together; `power` is NaN if unknown. */
export interface Pace {
  readonly traffic: number;
  readonly power: number;
}

/** The drop in both measures, as a logarithm with its standard deviation. */
export interface PaceDrop {
  readonly drop: number;
  readonly sigma: number;
  /** The drop in each measure alone. */
  readonly by: Pace;
}

/** The runs of all GPUs of a model. */
export function runsOfModel(fleet: FleetCells, model: string): WorkRun[] {
  const gpus = fleet.gpus.filter(({ gpu }) => gpu.model === model);
  const usualHertz = Math.max(
    0,
    ...gpus.map((cells) => quantileOf(whereBusy(cells, cells.get("clockMean")), 0.9) || 0),
  );
  const idleWatts = Math.min(
    ...gpus.map((cells) => quantileOf(cells.get("power"), 0.02)).filter((watts) => watts > 0),
  );
  const runs = gpus.flatMap(runsOf);
  for (const kind of new Set(runs.map((run) => run.kind))) {
    const own = runs.filter((run) => run.kind === kind);
    const baseWatts = baseOf(own, idleWatts);
    for (const run of own) measurePower(run, baseWatts, usualHertz);
  }
  return runs;
}

const whereBusy = (cells: GpuCells, column: Float64Array): Float64Array =>
  column.map((value, cell) =>
    (cells.get("utilization")[cell] ?? 0) > busyShare ? value : Number.NaN,
  );

function runsOf(cells: GpuCells): WorkRun[] {
  const utilization = cells.get("utilization");
  const traffic = cells.get("memoryUtilization");
  const runs: {
    owner: number;
    at: number[];
    utilization: number[];
    traffic: number[];
  }[] = [];
  let current: (typeof runs)[number] | undefined;
  let held = 0;
  for (let cell = 0; cell < cells.owners.length; cell++) {
    const owner = cells.owners[cell] as number;
    // While a driver hangs, no owner is reported, but the job goes on.
    if (owner < 0 && Number.isNaN(utilization[cell] ?? Number.NaN)) continue;
    if (owner < 0 || owner !== current?.owner) {
      current = owner < 0 ? undefined : { owner, at: [], utilization: [], traffic: [] };
      if (current !== undefined) runs.push(current);
      held = 0;
    }
    held += 1;
    if (current === undefined || held <= startCells || (cells.ownerCounts[cell] ?? 0) > 1) continue;
    const busy = utilization[cell] ?? Number.NaN;
    const moved = (traffic[cell] ?? Number.NaN) / busy;
    if (!(busy > busyShare) || !(moved > 0.02)) continue;
    current.at.push(cell);
    current.utilization.push(busy);
    current.traffic.push(Math.log(moved));
  }
  return runs
    .filter(({ at }) => at.length > 0)
    .map(({ owner, ...run }) => ({
      cells,
      kind: kindOfWork(cells.ownerNames[owner] ?? ""),
      ...run,
      power: [],
    }));
}

/** The offset of a line through power is meaningful only for a kind of work that leaves the card idle for a good part of the time. */
const leastSpread = 0.1;
const mostBusy = 0.65;

/** Power of an idle card that holds such a program: the offset of a fit of power over utilization. */
function baseOf(runs: readonly WorkRun[], idleWatts: number): number {
  const busy: number[] = [];
  const watts: number[] = [];
  for (const { cells, at, utilization } of runs)
    at.forEach((cell, row) => {
      const drawn = cells.get("power")[cell] ?? Number.NaN;
      if (Number.isNaN(drawn)) return;
      busy.push(utilization[row] as number);
      watts.push(drawn);
    });
  const isLight = medianOf(busy) < mostBusy;
  if (!isLight || !(quantileOf(busy, 0.9) - quantileOf(busy, 0.1) > leastSpread)) return idleWatts;
  const { offsets } = fitRobust(
    {
      inputCount: 1,
      inputs: Float64Array.from(busy),
      targets: Float64Array.from(watts),
      groups: new Int32Array(busy.length),
      groupCount: 1,
    },
    1,
  );
  return Math.min(Math.max(idleWatts, offsets[0] ?? idleWatts), 0.9 * quantileOf(watts, 0.1));
}

function measurePower(run: WorkRun, baseWatts: number, usualHertz: number): void {
  const watts = run.cells.get("power");
  const hertz = run.cells.get("clockMean");
  run.at.forEach((cell, row) => {
    const share = (hertz[cell] ?? Number.NaN) / usualHertz;
    const above = ((watts[cell] ?? Number.NaN) - baseWatts) / (run.utilization[row] as number);
    run.power.push(
      share >= nearClock && above > 1
        ? Math.log(above) - clockExponent * Math.log(share)
        : Number.NaN,
    );
  });
}

/** Means, because work adds up and a burst of another kind of work belongs to it. NaN if fewer than half of the cells have a value. */
export function paceOf({ traffic, power }: WorkRun, from = 0, to = traffic.length): Pace {
  return { traffic: meanOf(traffic, from, to), power: meanOf(power, from, to) };
}

function meanOf(values: readonly number[], from: number, to: number): number {
  let [sum, count] = [0, 0];
  for (let at = from; at < to; at++) {
    const value = values[at] as number;
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return count * 2 < to - from || count === 0 ? Number.NaN : sum / count;
}

/** Assumed standard deviation between runs of one program, until enough runs have been measured. */
const assumedSigma = { traffic: 0.05, power: 0.035 } as const;
const assumedRuns = 3;
const leastSigma = 0.012;

/**
 * How far a pace is below that of other runs: the most likely step that lowers both measures by the same share (generalised least
 * squares). If the runs vary along "more memory, less power", that direction has little weight.
 */
export function dropBelow(others: readonly Pace[], now: Pace, nowSigma: Pace): PaceDrop {
  const usual = {
    traffic: medianOf(others.map(({ traffic }) => traffic)),
    power: medianOf(others.map(({ power }) => power)),
  };
  const by = { traffic: usual.traffic - now.traffic, power: usual.power - now.power };
  const spreads = covarianceOf(others, usual);
  const traffic = spreads.traffic + nowSigma.traffic ** 2;
  const sigmaFloor = leastSigma ** 2;
  if (Number.isNaN(by.power) || Number.isNaN(spreads.power))
    return { drop: by.traffic, sigma: Math.sqrt(traffic + sigmaFloor), by };
  const power = spreads.power + nowSigma.power ** 2;
  const determinant = traffic * power - spreads.both ** 2;
  const [byTraffic, byPower] = [power - spreads.both, traffic - spreads.both];
  const weight = byTraffic + byPower;
  return {
    drop: (byTraffic * by.traffic + byPower * by.power) / weight,
    sigma: Math.sqrt(determinant / weight + sigmaFloor),
    by,
  };
}

interface Covariance {
  readonly traffic: number;
  readonly power: number;
  readonly both: number;
}

const trimRounds = 3;
const keptShare = 0.75;
/** Corrects the variance for the trimmed quarter. */
const trimFactor = 1.4;

/**
 * Covariance of the nearer runs, because one of the others may be slow itself. The fewer runs there are, the more the assumed
 * values count.
 */
function covarianceOf(others: readonly Pace[], usual: Pace): Covariance {
  const away = others.map((one) => ({
    traffic: one.traffic - usual.traffic,
    power: one.power - usual.power,
  }));
  const spread = (of: keyof Pace): number =>
    Math.max(
      leastSigma,
      sigmaOf(
        away.map((one) => one[of]),
        0,
      ) || 0,
    ) ** 2;
  let found: Covariance = { traffic: spread("traffic"), power: spread("power"), both: 0 };
  let [withPower, factor] = [0, 1];
  for (let round = 0; round < trimRounds; round++) {
    const distances = away.map((one) => distanceOf(one, found));
    const most = quantileOf(distances, keptShare);
    const kept = away.filter((_, at) => (distances[at] as number) <= most);
    const both = kept.filter(({ power }) => !Number.isNaN(power));
    withPower = both.length;
    factor = kept.length < away.length ? trimFactor : 1;
    const mean = (from: readonly Pace[], of: (one: Pace) => number, assumed: number): number =>
      (factor * from.reduce((sum, one) => sum + of(one), 0) + assumedRuns * assumed) /
      (from.length + assumedRuns);
    found = {
      traffic: mean(kept, ({ traffic }) => traffic ** 2, assumedSigma.traffic ** 2),
      power: mean(both, ({ power }) => power ** 2, assumedSigma.power ** 2),
      both: mean(both, ({ traffic, power }) => traffic * power, 0),
    };
  }
  return withPower === 0 ? { ...found, power: Number.NaN } : found;
}

/** Squared distance in standard deviations; by traffic alone if power is unknown. */
function distanceOf({ traffic, power }: Pace, by: Covariance): number {
  if (Number.isNaN(power)) return traffic ** 2 / by.traffic;
  const determinant = Math.max(1e-9, by.traffic * by.power - by.both ** 2);
  return (
    (by.power * traffic ** 2 - 2 * by.both * traffic * power + by.traffic * power ** 2) /
    determinant
  );
}

/** Noise from cell to cell within one run, without its steps. */
export function noiseOf(run: WorkRun): Pace {
  const noise = (values: readonly number[]): number => {
    const steps = values.slice(1).map((value, at) => value - (values[at] as number));
    return Math.max(leastSigma, sigmaOf(steps, 0) / Math.SQRT2 || 0);
  };
  return { traffic: noise(run.traffic), power: noise(run.power) };
}

export interface RunStep extends PaceDrop {
  /** Index within the run of the first cell after the step. */
  readonly at: number;
}

/** Neighbouring cells are correlated, so that their number overstates the information. */
const alikeFactor = 1.4;

/** Returns the largest step down within a run that lasts to its end. */
export function stepDown(run: WorkRun, noise: Pace): RunStep | undefined {
  const count = run.at.length;
  let best: RunStep | undefined;
  for (let at = leastRunCells; at + leastRunCells <= count; at++) {
    const before = paceOf(run, 0, at);
    const after = paceOf(run, at, count);
    const by = { traffic: before.traffic - after.traffic, power: before.power - after.power };
    const weights = {
      traffic: 1 / noise.traffic ** 2,
      power: Number.isNaN(by.power) ? 0 : 1 / noise.power ** 2,
    };
    const weight = weights.traffic + weights.power;
    const drop =
      (weights.traffic * by.traffic + (weights.power === 0 ? 0 : weights.power * by.power)) /
      weight;
    const sigma = alikeFactor * Math.sqrt((1 / at + 1 / (count - at)) / weight);
    if (best === undefined || drop / sigma > best.drop / best.sigma) best = { drop, sigma, by, at };
  }
  return best;
}
