/** Computes the figures of each LLM server from its series. Pure: the hub reads the series, time is an argument. */
import type { CounterSignal, LatencySignal, ServerSignal } from "../../formats/servers/table.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import {
  type CumulativeBucket,
  bucketFraction,
  bucketQuantile,
} from "../../query/eval/functions/buckets.ts";
import { commonPeriod, Cumulative, increaseOf, samplesOf } from "./cumulative.ts";
import { type RateInterval, splitEnergy } from "./energy-split.ts";
import type { ServingFigure, FigureName, Serving, ServingGpus, ServingReplica } from "./figures.ts";
import { type FleetLabels, gpusOfReplicas, hostOfTarget } from "./gpus.ts";
import { findReplicas, type Replica, type ServerSeries } from "./replicas.ts";

export interface ServingInput {
  readonly timeMs: number;
  readonly windowMs: number;
  readonly slo: Serving["slo"];
  /** Series of servers: token counters over the period of the energy split, all others over the window. */
  readonly series: readonly ServerSeries[];
  readonly fleet: FleetLabels;
  /** Returns the energy of a GPU as a cumulative total of joules. */
  readonly joulesOf: (host: string, uuid: string) => Cumulative | undefined;
  /** Current price of a kilowatt-hour. */
  readonly pricePerKwh?: number | undefined;
  readonly currency?: string | undefined;
}

/** Most servers in one response. */
const mostReplicas = 200;
/** Period of the energy split. */
export const splitMs = 3_600_000;
const joulesPerKwh = 3_600_000;
/** Shorter intervals contain too few tokens; NVIDIA's energy counter is read every 5 s. */
const shortestIntervalMs = 5_000;
/** For series whose samples are not the interval bounds, because both ends are interpolated. */
const scrapesPerInterval = 3;
/** An interval this many times as long as usual contains a gap. */
const mostStretch = 3;
/** A ratio may exceed 1 by rounding. */
const mostRatio = 1.001;

export function describeServing(input: ServingInput): Serving {
  const all = findReplicas(input.series, input.timeMs).toSorted(byModel);
  const shown = all.slice(0, mostReplicas);
  const gpus = gpusOfReplicas(shown, input.fleet);
  return {
    timeMs: input.timeMs,
    windowMs: input.windowMs,
    slo: input.slo,
    ...(input.currency === undefined ? {} : { currency: input.currency }),
    replicas: shown.map((replica, at) =>
      describeReplica(replica, gpus[at] ?? { absent: "BUG: no GPUs were looked for." }, input),
    ),
    leftOut: all.length - shown.length,
  };
}

const byModel = (left: Replica, right: Replica): number =>
  (left.model ?? "~").localeCompare(right.model ?? "~") || left.id.localeCompare(right.id);

function describeReplica(replica: Replica, gpus: ServingGpus, input: ServingInput): ServingReplica {
  const { table, target, model, lastMs, id } = replica;
  const readings = new ReplicaReadings(replica, input);
  const joules = energyOf(gpus, input);
  return {
    id,
    server: table.name,
    program: table.program,
    role: table.role,
    ...(target.job === undefined ? {} : { job: target.job }),
    instance: target.instance,
    host: hostOfTarget(target, input.fleet.ownHost),
    ...(model === undefined ? {} : { model }),
    lastMs,
    gpus,
    figures: figuresOf(readings, joules, input),
    energySplit: splitOf(readings, joules, input),
    problems: readings.problems,
  };
}

type Energy = readonly Cumulative[] | { readonly absent: string };

function energyOf(gpus: ServingGpus, { joulesOf }: ServingInput): Energy {
  if ("absent" in gpus) return gpus;
  if (gpus.sharedWith > 0)
    return {
      absent: `Its GPUs are also those of ${gpus.sharedWith} other server${gpus.sharedWith === 1 ? "" : "s"} as far as is known: see how to tell servers of one machine apart in the guide.`,
    };
  const all: Cumulative[] = [];
  for (const { host, uuid, index } of gpus.list) {
    const joules = joulesOf(host, uuid);
    if (joules === undefined) return { absent: `GPU ${index} of ${host} reports no power.` };
    all.push(joules);
  }
  return all;
}

/** The signals of one server as numbers, with a reason for each absent one. */
class ReplicaReadings {
  readonly problems: string[] = [];
  readonly #replica: Replica;
  readonly #input: ServingInput;
  readonly #counters = new Map<CounterSignal, readonly Cumulative[]>();

  constructor(replica: Replica, input: ServingInput) {
    this.#replica = replica;
    this.#input = input;
  }

  get table(): Replica["table"] {
    return this.#replica.table;
  }

  counters(signal: CounterSignal): readonly Cumulative[] {
    let found = this.#counters.get(signal);
    if (found === undefined) {
      found = this.#series(signal).map(({ column }) => Cumulative.ofCounter(column));
      this.#counters.set(signal, found);
    }
    return found;
  }

  rate(signal: CounterSignal, unitSeconds = 1): ServingFigure {
    const all = this.counters(signal);
    if (all.length === 0) return this.#missing(signal);
    const { timeMs, windowMs } = this.#input;
    // A label value that first appears within the window, such as the first abort, counts from its first sample on.
    let sum: number | undefined;
    let seconds = 0;
    for (const one of all) {
      const period = commonPeriod([one], timeMs - windowMs, timeMs);
      const increase = period && one.increase(period.fromMs, period.toMs);
      if (period === undefined || increase === undefined) continue;
      sum = (sum ?? 0) + increase;
      seconds = Math.max(seconds, (period.toMs - period.fromMs) / 1_000);
    }
    return sum === undefined
      ? { absent: "It has been scraped once so far." }
      : { value: (sum / seconds) * unitSeconds };
  }

  /** Sums the parts of a server; series that differ in other labels count once. */
  gauge(signal: "running" | "waiting" | "kvCacheRatio"): ServingFigure {
    const series = this.#series(signal);
    const parts = new Map<string, number>();
    for (const { labels, column } of series) {
      const value = lastOf(column);
      if (value === undefined) continue;
      const part = JSON.stringify(this.table.partLabels.map((name) => labelValue(labels, name)));
      parts.set(part, Math.max(parts.get(part) ?? Number.NEGATIVE_INFINITY, value));
    }
    const values = [...parts.values()];
    if (values.length === 0)
      return series.length === 0 ? this.#missing(signal) : { absent: "It reports no number." };
    const value =
      signal === "kvCacheRatio" ? Math.max(...values) : values.reduce((sum, one) => sum + one, 0);
    const isPossible = value >= 0 && (signal !== "kvCacheRatio" || value <= mostRatio);
    if (isPossible) return { value };
    const sentence = `It reports ${value} for ${series[0] && labelValue(series[0].labels, "__name__")}, which is impossible.`;
    this.problems.push(sentence);
    return { absent: sentence };
  }

  /** Cumulative bucket counts of the observations within the window. */
  buckets(signal: LatencySignal): CumulativeBucket[] | { readonly absent: string } {
    const series = this.#series(signal);
    if (series.length === 0) return this.#missing(signal);
    const { timeMs, windowMs } = this.#input;
    const counts = new Map<number, number>();
    for (const { labels, column } of series) {
      const bound = boundOf(labels);
      if (bound === undefined) continue;
      const total = Cumulative.ofCounter(column);
      const period = commonPeriod([total], timeMs - windowMs, timeMs);
      if (period === undefined) continue;
      const increase = total.increase(period.fromMs, period.toMs) ?? 0;
      counts.set(bound, (counts.get(bound) ?? 0) + increase);
    }
    if (counts.size === 0) return { absent: "It has been scraped once so far." };
    const buckets = [...counts]
      .map(([bound, count]) => ({ bound, count }))
      .toSorted((a, b) => a.bound - b.bound);
    const last = buckets.at(-1);
    if (last?.bound !== Number.POSITIVE_INFINITY || buckets.length < 2) {
      const sentence = `The histogram ${series[0] && labelValue(series[0].labels, "__name__")} has no bucket +Inf: it is not complete.`;
      this.problems.push(sentence);
      return { absent: sentence };
    }
    return last.count > 0 ? buckets : { absent: "No request within the window." };
  }

  #series(signal: ServerSignal): readonly ServerSeries[] {
    return this.#replica.signals.get(signal) ?? [];
  }

  #missing(signal: ServerSignal): { readonly absent: string } {
    const { program, missing } = this.table;
    return { absent: missing[signal] ?? `This ${program} does not expose it.` };
  }
}

function figuresOf(
  readings: ReplicaReadings,
  energy: Energy,
  input: ServingInput,
): Record<FigureName, ServingFigure> {
  const { slo } = input;
  const firstToken = readings.buckets("timeToFirstToken");
  const interToken = readings.buckets("interToken");
  const duration = readings.buckets("requestDuration");
  const requests = readings.rate("requests");
  const withinFirst = fractionWithin(firstToken, slo.timeToFirstTokenSeconds);
  const withinInter = fractionWithin(interToken, slo.interTokenSeconds);
  const withinSlo = combine(withinFirst, withinInter, (first, inter) =>
    Math.max(0, first + inter - 1),
  );
  const generated = energyPer(readings, "generatedTokens", energy, input);
  const prompt = energyPer(readings, "promptTokens", energy, input);
  const power = powerOf(readings, energy, input);
  const perJoule = (tokens: ServingFigure): ServingFigure =>
    combine(tokens, power, (rate, watts) => (watts > 0 ? rate / watts : Number.NaN));
  const generatedPerJoule = perJoule(generated);
  const joulesPerGenerated = combine(power, generated, (watts, rate) =>
    rate > 0 ? watts / rate : Number.NaN,
  );
  return {
    promptTokens: readings.rate("promptTokens"),
    generatedTokens: readings.rate("generatedTokens"),
    requests,
    failedRequests: readings.rate("failedRequests"),
    running: readings.gauge("running"),
    waiting: readings.gauge("waiting"),
    kvCache: readings.gauge("kvCacheRatio"),
    preemptions: readings.rate("preemptions", 60),
    timeToFirstTokenP50: quantile(firstToken, 0.5),
    timeToFirstTokenP99: quantile(firstToken, 0.99),
    interTokenP50: quantile(interToken, 0.5),
    interTokenP99: quantile(interToken, 0.99),
    requestDurationP50: quantile(duration, 0.5),
    withinTimeToFirstToken: withinFirst,
    withinInterToken: withinInter,
    withinSlo,
    goodput: combine(requests, withinSlo, (rate, share) => rate * share),
    power,
    tokensPerJoule: perJoule(combine(prompt, generated, (left, right) => left + right)),
    generatedPerJoule,
    generatedPerJouleAtSlo: combine(generatedPerJoule, withinSlo, (rate, share) => rate * share),
    joulesPerGenerated,
    costPerMillion:
      input.pricePerKwh === undefined
        ? { absent: "No price is set: see jobs_price." }
        : combine(
            joulesPerGenerated,
            { value: input.pricePerKwh },
            (joules, price) => (joules * 1e6 * price) / joulesPerKwh,
          ),
  };
}

/** Returns the period for which both tokens and power are known. */
function energyPeriod(
  readings: ReplicaReadings,
  energy: readonly Cumulative[],
  { timeMs, windowMs }: ServingInput,
): ReturnType<typeof commonPeriod> {
  const tokens = [...readings.counters("promptTokens"), ...readings.counters("generatedTokens")];
  return commonPeriod([...tokens, ...energy], timeMs - windowMs, timeMs);
}

const noCommonPeriod = "Tokens and power were not reported at the same time.";

/** Tokens per second over that period, so that tokens and joules cover the same seconds. */
function energyPer(
  readings: ReplicaReadings,
  signal: "promptTokens" | "generatedTokens",
  energy: Energy,
  input: ServingInput,
): ServingFigure {
  if ("absent" in energy) return energy;
  const rate = readings.rate(signal);
  if ("absent" in rate) return rate;
  const period = energyPeriod(readings, energy, input);
  const tokens = period && increaseOf(readings.counters(signal), period.fromMs, period.toMs);
  return period === undefined || tokens === undefined
    ? { absent: noCommonPeriod }
    : { value: tokens / ((period.toMs - period.fromMs) / 1_000) };
}

function powerOf(readings: ReplicaReadings, energy: Energy, input: ServingInput): ServingFigure {
  if ("absent" in energy) return energy;
  const period = energyPeriod(readings, energy, input);
  const joules = period && increaseOf(energy, period.fromMs, period.toMs);
  return period === undefined || joules === undefined
    ? { absent: noCommonPeriod }
    : { value: joules / ((period.toMs - period.fromMs) / 1_000) };
}

function splitOf(
  readings: ReplicaReadings,
  energy: Energy,
  { timeMs }: ServingInput,
): ServingReplica["energySplit"] {
  if ("absent" in energy) return energy;
  if (readings.table.countsAtEnd === true)
    return {
      absent: `Cannot tell: ${readings.table.program} counts tokens when a request ends, not when they are computed.`,
    };
  const prompt = readings.counters("promptTokens");
  const generated = readings.counters("generatedTokens");
  if (prompt.length === 0 || generated.length === 0)
    return { absent: "Cannot tell: it does not count both kinds of tokens." };
  const period = commonPeriod([...prompt, ...generated, ...energy], timeMs - splitMs, timeMs);
  if (period === undefined) return { absent: noCommonPeriod };
  const intervals: RateInterval[] = [];
  for (const [fromMs, toMs] of splitIntervals([...prompt, ...generated, ...energy], period)) {
    const of = (all: readonly Cumulative[]): number | undefined => {
      const increase = increaseOf(all, fromMs, toMs);
      return increase === undefined ? undefined : increase / ((toMs - fromMs) / 1_000);
    };
    const [watts, promptRate, generatedRate] = [of(energy), of(prompt), of(generated)];
    if (watts !== undefined && promptRate !== undefined && generatedRate !== undefined)
      intervals.push({
        seconds: (toMs - fromMs) / 1_000,
        watts,
        promptTokensPerSecond: promptRate,
        generatedTokensPerSecond: generatedRate,
      });
  }
  return splitEnergy(intervals);
}

/**
 * Intervals that begin and end at samples of the coarsest series, usually the energy counter, so that a change of work between two
 * of its samples is in the same interval as its energy.
 */
function splitIntervals(
  all: readonly Cumulative[],
  period: { readonly fromMs: number; readonly toMs: number },
): (readonly [fromMs: number, toMs: number])[] {
  const coarsest = all.reduce((left, right) => (right.intervalMs > left.intervalMs ? right : left));
  const others = all.filter((one) => one !== coarsest).map(({ intervalMs }) => intervalMs);
  const stepMs = Math.max(
    shortestIntervalMs,
    coarsest.intervalMs,
    scrapesPerInterval * Math.max(0, ...others),
  );
  const ends: number[] = [];
  for (const timeMs of coarsest.times) {
    if (timeMs < period.fromMs || timeMs > period.toMs) continue;
    const last = ends.at(-1);
    if (last === undefined || timeMs - last >= stepMs - coarsest.intervalMs / 2) ends.push(timeMs);
  }
  return ends.slice(1).flatMap((toMs, at) => {
    const fromMs = ends[at] ?? toMs;
    return toMs - fromMs > mostStretch * stepMs ? [] : [[fromMs, toMs] as const];
  });
}

function combine(
  left: ServingFigure,
  right: ServingFigure,
  of: (a: number, b: number) => number,
): ServingFigure {
  if ("absent" in left) return left;
  if ("absent" in right) return right;
  const value = of(left.value, right.value);
  return Number.isFinite(value) ? { value } : { absent: "No tokens within the window." };
}

function quantile(buckets: ReturnType<ReplicaReadings["buckets"]>, q: number): ServingFigure {
  if ("absent" in buckets) return buckets;
  const { value } = bucketQuantile(q, buckets);
  return Number.isFinite(value) ? { value } : { absent: "Its histogram holds no such value." };
}

function fractionWithin(
  buckets: ReturnType<ReplicaReadings["buckets"]>,
  limit: number,
): ServingFigure {
  if ("absent" in buckets) return buckets;
  const value = bucketFraction(Number.NEGATIVE_INFINITY, limit, buckets);
  return Number.isFinite(value)
    ? { value: Math.min(1, Math.max(0, value)) }
    : { absent: "Its histogram holds no such value." };
}

function boundOf(labels: LabelSet): number | undefined {
  const text = labelValue(labels, "le");
  const bound = text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text ?? Number.NaN);
  return Number.isNaN(bound) ? undefined : bound;
}

function lastOf(column: ServerSeries["column"]): number | undefined {
  let last: number | undefined;
  for (const [, value] of samplesOf(column)) last = value;
  return last;
}
