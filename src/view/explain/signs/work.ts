/**
 * Work that is not done moves no data: a GPU as busy as before, or as others on the same kind of job, that uses its memory
 * and its power less gets less done. Compared with the same job before, and with other runs of its kind on the model.
 */
import { kindOfWork } from "../../../lake/analyses/anomaly/work.ts";
import { selector } from "../../../lake/analyses/anomaly/detectors/detector.ts";
import { gpu } from "../../../model/catalogue/index.ts";
import {
  confidenceOf,
  EvidenceWriter,
  type Finding,
  focusCells,
  focusWithinMs,
  meanOver,
  seconds,
  sinceCell,
  type SignContext,
} from "../finding.ts";
import type { FleetCells, GpuCells } from "../fleet-cells.ts";
import { cellMs } from "../grid.ts";
import { changePoint, medianOf, quantileOf, sigmaOf } from "../statistics.ts";
import { percent } from "./cooling.ts";

const busyShare = 0.15;
/** A program that starts loads its data first. */
const startCells = 2;
const leastShare = 0.07;
/** Jobs have phases: a step within one must be larger. */
const leastStep = 0.14;
const nearLimit = 0.85;
const sigmasOff = 4.5;
const leastSigma = 0.012;
const leastRuns = 3;
const leastRunCells = 6;
/** The other measure must show at least this much of what one shows. */
const agreeShare = 0.3;

/** One program on one GPU: its cells, and the logarithm of each measure in them. */
interface WorkRun {
  readonly cells: GpuCells;
  readonly kind: string;
  readonly at: readonly number[];
  readonly traffic: readonly number[];
  readonly power: readonly number[];
}

export function workSigns({ fleet, scope }: SignContext): Finding[] {
  const models = new Set(scope.map((cells) => cells.gpu.model));
  return [...models].flatMap((model) => {
    const runs = fleet.gpus.filter((cells) => cells.gpu.model === model).flatMap(runsOf);
    return scope
      .filter((cells) => cells.gpu.model === model)
      .flatMap((cells) => stragglerSigns(fleet, cells, runs));
  });
}

function runsOf(cells: GpuCells): WorkRun[] {
  const idleWatts = quantileOf(cells.get("power"), 0.02);
  const utilization = cells.get("utilization");
  const traffic = cells.get("memoryUtilization");
  const power = cells.get("power");
  const runs: { owner: number; at: number[]; traffic: number[]; power: number[] }[] = [];
  let current: (typeof runs)[number] | undefined;
  let held = 0;
  for (let cell = 0; cell < cells.owners.length; cell++) {
    const owner = cells.owners[cell] as number;
    if (owner < 0 || owner !== current?.owner) {
      current = owner < 0 ? undefined : { owner, at: [], traffic: [], power: [] };
      if (current !== undefined) runs.push(current);
      held = 0;
    }
    held += 1;
    if (current === undefined || held <= startCells || (cells.ownerCounts[cell] ?? 0) > 1) continue;
    const busy = utilization[cell] ?? Number.NaN;
    const moved = (traffic[cell] ?? Number.NaN) / busy;
    if (!(busy > busyShare) || !(moved > 0.02)) continue;
    current.at.push(cell);
    current.traffic.push(Math.log(moved));
    current.power.push(Math.log(Math.max(1e-3, ((power[cell] ?? Number.NaN) - idleWatts) / busy)));
  }
  return runs
    .filter(({ at }) => at.length > 0)
    .map(({ owner, ...run }) => ({
      cells,
      kind: kindOfWork(cells.ownerNames[owner] ?? ""),
      ...run,
    }));
}

interface WorkComparison {
  /** How much less work, as a share. */
  readonly less: number;
  readonly sigma: number;
  readonly limit: number;
  readonly than: "before" | "others";
  readonly others: number;
  readonly usual: number;
  /** The power fell as well. */
  readonly agrees: boolean;
}

function stragglerSigns(fleet: FleetCells, cells: GpuCells, runs: readonly WorkRun[]): Finding[] {
  const { grid } = fleet;
  const run = runs.findLast((one) => one.cells === cells && one.at.length >= leastRunCells);
  const lastCell = run?.at.at(-1) ?? -1;
  if (run === undefined || lastCell < grid.since(focusWithinMs)) return [];
  const now = medianOf(run.traffic.slice(-focusCells));
  const nowPower = medianOf(run.power.slice(-focusCells));
  // At its power limit a card draws as much for less work, at a higher clock.
  const limitWatts = cells.last("powerLimit") ?? Number.POSITIVE_INFINITY;
  const isCapped = meanOver(cells.get("power"), lastCell) > nearLimit * limitWatts;
  const others = runs.filter(
    (one) =>
      one !== run &&
      one.kind === run.kind &&
      one.at.length >= leastRunCells &&
      // A fault that the card has now may have slowed its last jobs too.
      (one.cells !== cells || (one.at.at(-1) ?? 0) < grid.since(60 * 60_000)),
  );
  // As much as others do: the job has only been in a phase that moves more.
  const isUsual =
    others.length >= 5 && now > medianOf(others.map(({ traffic }) => medianOf(traffic))) - 0.04;
  if (isUsual) return [];
  const found = [compareBefore(run, now, nowPower), compareOthers(others, now, nowPower)].find(
    (one) => one !== undefined && (isCapped || one.agrees || one.less > 2 * one.limit),
  );
  if (found === undefined) return [];
  const departures = new Float64Array(grid.cellCount).fill(Number.NaN);
  run.at.forEach((cell, at) => {
    departures[cell] = (found.usual - (run.traffic[at] as number)) / found.limit;
  });
  const first = changePoint(departures, grid.recentCell);
  const end = lastCell;
  const share = 1 - found.less;
  const evidence = new EvidenceWriter(fleet, cells);
  const busy = meanOver(cells.get("utilization"), end);
  const span = `${(focusCells * cellMs) / 1_000}s`;
  const endSeconds = seconds(grid.endMs[end] ?? grid.timeMs);
  const over = (name: string): string =>
    `avg_over_time(${selector(name, cells.gpu)}[${span}] @ ${endSeconds})`;
  const value = meanOver(cells.get("memoryUtilization"), end) / busy;
  return [
    {
      cause: "straggler",
      gpus: [cells],
      ...sinceCell(grid, Math.min(first, end)),
      confidence: confidenceOf(found.less / found.limit, 0.9),
      summary: `is ${percent(busy)} busy on ${run.kind} and does about ${percent(share)} of the work that ${found.than === "before" ? "it did before in the same job" : `${found.others} other runs of it on this model do`}, by its use of memory (${(found.less / found.sigma).toFixed(0)} sigmas)`,
      evidence: [
        {
          metric: gpu.memoryControllerUtilization.name,
          value,
          unit: "ratio",
          usual: Math.exp(found.usual),
          sigmas: found.less / found.sigma,
          promql: `${over(gpu.memoryControllerUtilization.name)} / ignoring(__name__) ${over(gpu.utilization.name)}`,
        },
        ...evidence.mean("utilization", end),
        ...evidence.mean("power", end),
      ],
    },
  ];
}

/** The same job before: a step down within the run. */
function compareBefore(run: WorkRun, now: number, nowPower: number): WorkComparison | undefined {
  const before = run.traffic.slice(0, -focusCells);
  if (before.length < leastRunCells) return undefined;
  // The upper part: most of the cells before may be slow already.
  const usual = quantileOf(before, 0.8);
  const sound = before.filter((value) => value > (usual + now) / 2);
  const sigma = Math.max(leastSigma, sigmaOf(sound));
  const limit = Math.max(leastStep, sigmasOff * sigma);
  const less = 1 - Math.exp(now - usual);
  if (less < limit || sound.length < leastRunCells) return undefined;
  const lessPower = 1 - Math.exp(nowPower - quantileOf(run.power.slice(0, -focusCells), 0.8));
  const agrees = lessPower > agreeShare * less;
  return { less, sigma, limit, than: "before", others: 0, usual, agrees };
}

function compareOthers(
  others: readonly WorkRun[],
  now: number,
  nowPower: number,
): WorkComparison | undefined {
  if (others.length < leastRuns) return undefined;
  const middles = others.map(({ traffic }) => medianOf(traffic));
  const usual = medianOf(middles);
  const sigma = Math.max(leastSigma, sigmaOf(middles, usual));
  // Runs of a kind differ: well below the lowest of them counts too, the less the more there are.
  const beyond = usual - quantileOf(middles, 0.1) + 2 * leastSigma + 0.5 / others.length;
  const limit = Math.max(leastShare, 2.7 * sigma, Math.min(sigmasOff * sigma, beyond));
  const less = 1 - Math.exp(now - usual);
  if (less < limit) return undefined;
  const lessPower = 1 - Math.exp(nowPower - medianOf(others.map(({ power }) => medianOf(power))));
  const agrees = lessPower > agreeShare * less;
  return { less, sigma, limit, than: "others", others: others.length, usual, agrees };
}
