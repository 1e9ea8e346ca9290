/**
 * Stragglers. Work that is not done moves no data and draws no power: a GPU that is as busy as before, or as others on the same
 * kind of job, but uses its memory and its power less, does less work. Compares it with the same job before, and with other runs of
 * its kind on the model.
 */
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
import {
  dropBelow,
  leastRunCells,
  noiseOf,
  type PaceDrop,
  paceOf,
  runsOfModel,
  stepDown,
  type WorkRun,
} from "../pace.ts";
import { changePoint, medianOf } from "../statistics.ts";
import { percent } from "./cooling.ts";

/** Another run may be slow too: the fewer runs, the larger the required difference. */
const fewRuns = 3;
/** A smaller drop is not reported, however certain. */
const leastDrop = 0.08;
/** Jobs have phases, so a step within one has to be larger. */
const leastStep = 0.1;
const sigmasOff = 4;
/** Distinguishes a slow GPU from a phase of a job: in a step, each measure has to show at least this share of it. */
const agreeShare = 0.4;
/** Within this difference a run does as much as the others. */
const usualDrop = 0.04;

export function workSigns({ fleet, scope }: SignContext): Finding[] {
  const models = new Set(scope.map((cells) => cells.gpu.model));
  return [...models].flatMap((model) => {
    const runs = runsOfModel(fleet, model);
    return scope
      .filter((cells) => cells.gpu.model === model)
      .flatMap((cells) => stragglerSigns(fleet, cells, runs));
  });
}

interface WorkComparison extends PaceDrop {
  readonly limit: number;
  readonly than: "before" | "others";
  readonly others: number;
  /** Usual memory traffic while busy, as a logarithm. */
  readonly usual: number;
}

function stragglerSigns(fleet: FleetCells, cells: GpuCells, runs: readonly WorkRun[]): Finding[] {
  const { grid } = fleet;
  const run = runs.findLast((one) => one.cells === cells && one.at.length >= leastRunCells);
  const end = run?.at.at(-1) ?? -1;
  if (run === undefined || end < grid.since(focusWithinMs)) return [];
  const others = runs.filter(
    (one) =>
      one !== run &&
      one.kind === run.kind &&
      one.at.length >= leastRunCells &&
      // A current fault of the card may have slowed its recent jobs too.
      (one.cells !== cells || (one.at.at(-1) ?? 0) < grid.since(60 * 60_000)),
  );
  const found = compare(run, others);
  if (found === undefined) return [];
  const departures = new Float64Array(grid.cellCount).fill(Number.NaN);
  run.at.forEach((cell, at) => {
    departures[cell] = (found.usual - (run.traffic[at] as number)) / found.limit;
  });
  const first = changePoint(departures, grid.recentCell);
  const share = Math.exp(-found.drop);
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
      confidence: confidenceOf(found.drop / found.limit, 0.9),
      summary: `is ${percent(busy)} busy on ${run.kind} and does about ${percent(share)} of the work that ${found.than === "before" ? "it did before in the same job" : `${found.others} other runs of it on this model do`}, by its use of memory and power (${(found.drop / found.sigma).toFixed(0)} sigmas)`,
      evidence: [
        {
          metric: gpu.memoryControllerUtilization.name,
          value,
          unit: "ratio",
          usual: Math.exp(found.usual),
          sigmas: found.drop / found.sigma,
          promql: `${over(gpu.memoryControllerUtilization.name)} / ignoring(__name__) ${over(gpu.utilization.name)}`,
        },
        ...evidence.mean("utilization", end),
        ...evidence.mean("power", end),
      ],
    },
  ];
}

/**
 * Compares a run with its own past (a step down) and with the other runs; returns the strongest result of the windows that last to
 * its end.
 */
function compare(run: WorkRun, others: readonly WorkRun[]): WorkComparison | undefined {
  const noise = noiseOf(run);
  const count = run.at.length;
  const step = stepDown(run, noise);
  const windows = [...new Set([0, step?.at ?? 0, Math.max(0, count - 3 * focusCells)])];
  const usual = others.map((one) => paceOf(one));
  const below = windows
    .map((from) => {
      const root = Math.sqrt(Math.max(1, count - from));
      const sigma = { traffic: noise.traffic / root, power: noise.power / root };
      return dropBelow(usual, paceOf(run, from), sigma);
    })
    .reduce((best, one) => (one.drop / one.sigma > best.drop / best.sigma ? one : best));
  const isKnown = others.length > 0;
  if (others.length >= 5 && !(below.drop > usualDrop)) return undefined;
  const caution = Math.sqrt(1 + fewRuns / Math.max(1, others.length));
  const limit = Math.max(leastDrop, sigmasOff * below.sigma * caution);
  if (isKnown && below.drop > limit)
    return {
      ...below,
      limit,
      than: "others",
      others: others.length,
      usual: medianOf(usual.map(({ traffic }) => traffic)),
    };
  if (step === undefined) return undefined;
  const stepLimit = Math.max(leastStep, sigmasOff * step.sigma);
  const agrees = [step.by.traffic, step.by.power].every(
    (drop) => Number.isNaN(drop) || drop > agreeShare * step.drop,
  );
  if (!(step.drop > stepLimit) || !agrees) return undefined;
  const before = paceOf(run, 0, step.at).traffic;
  return { ...step, limit: stepLimit, than: "before", others: 0, usual: before };
}
