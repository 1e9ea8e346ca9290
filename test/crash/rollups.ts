// What rollups answer, held against what the hub answers from raw samples: the same windows among others that no rollup divides.

import type { FoundSeries } from "./senders.ts";

/** Steps that divide the resolution, and that the finest resolution does not divide: raw samples answer them. */
const resolutions = [
  { resolutionMs: 300_000, rawStepMs: 150_000 },
  { resolutionMs: 3_600_000, rawStepMs: 450_000 },
];
const functions = [
  "count_over_time",
  "sum_over_time",
  "avg_over_time",
  "min_over_time",
  "max_over_time",
  "first_over_time",
  "last_over_time",
  "present_over_time",
  "ts_of_first_over_time",
  "ts_of_last_over_time",
  "rate",
  "increase",
  "delta",
];
/** Sums of a few hundred values of at most 1, added up in another order. */
const toleranceOfSums = 1e-11;

export interface RangeAnswer {
  readonly series: readonly FoundSeries[];
  readonly infos: readonly string[];
}

/** Asks a hub for a range of steps. */
export type AskRange = (
  query: string,
  fromMs: number,
  toMs: number,
  stepMs: number,
) => Promise<RangeAnswer>;

export interface RollupVerdict {
  /** Values compared, and how many of them are of queries that rollups answered. */
  readonly windows: number;
  readonly fromRollups: number;
  readonly wrong: readonly string[];
}

export const isFromRollups = ({ infos }: RangeAnswer): boolean =>
  infos.some((info) => info.includes("rollups answered"));

/** Compares every function over every whole bucket between these instants. */
export async function judgeRollups(
  metric: string,
  fromMs: number,
  untilMs: number,
  ask: AskRange,
): Promise<RollupVerdict> {
  let [windows, fromRollups] = [0, 0];
  const wrong: string[] = [];
  for (const { resolutionMs, rawStepMs } of resolutions) {
    const firstMs = Math.ceil(fromMs / resolutionMs) * resolutionMs;
    const lastMs = Math.floor(untilMs / resolutionMs) * resolutionMs;
    // One window alone has no step, and a rollup answers it.
    if (lastMs <= firstMs) continue;
    for (const name of functions) {
      const query = `${name}(${metric}[${resolutionMs}ms])`;
      const answer = await ask(query, firstMs, lastMs, resolutionMs);
      const raw = await ask(query, firstMs, lastMs, rawStepMs);
      if (isFromRollups(raw)) throw new Error(`BUG: rollups answered ${query} at ${rawStepMs} ms`);
      const found = valuesOf(answer, resolutionMs);
      windows += found.size;
      if (isFromRollups(answer)) fromRollups += found.size;
      wrong.push(...differences(query, valuesOf(raw, resolutionMs), found));
    }
  }
  return { windows, fromRollups, wrong };
}

/** The values at whole multiples of a step, by series and instant. */
function valuesOf({ series }: RangeAnswer, stepMs: number): Map<string, number> {
  const found = new Map<string, number>();
  for (const { metric, values = [] } of series)
    for (const [seconds, value] of values) {
      const timeMs = Math.round(seconds * 1000);
      if (timeMs % stepMs === 0)
        found.set(`${metric["series"]}/${metric["churn"] ?? ""}@${timeMs}`, Number(value));
    }
  return found;
}

function differences(
  query: string,
  want: ReadonlyMap<string, number>,
  got: ReadonlyMap<string, number>,
): string[] {
  const isSum = /^(sum|avg|rate|increase|delta)/.test(query);
  const isSame = (a: number, b: number): boolean =>
    isSum ? Math.abs(a - b) <= toleranceOfSums * Math.max(1, Math.abs(a)) : Object.is(a, b);
  const wrong: string[] = [];
  for (const [key, value] of want) {
    const other = got.get(key);
    if (other === undefined || !isSame(value, other))
      wrong.push(`${query} of ${key} is ${other} instead of ${value}`);
  }
  for (const key of got.keys())
    if (!want.has(key)) wrong.push(`${query} of ${key} is there without samples`);
  return wrong;
}
