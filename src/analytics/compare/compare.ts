/** The comparison: every metric of every subject beside the first one's, as plain data that reports, API and page show alike. */
import type { Caveat } from "./alike.ts";
import { caveatsOf } from "./alike.ts";
import type { Curve } from "./curves.ts";
import { curvesOf } from "./curves.ts";
import type { Difference } from "./difference.ts";
import { differenceOf, numbersOf } from "./difference.ts";
import type { Distribution } from "./distribution.ts";
import type { Figures, Value } from "./figures.ts";
import { figuresOf, metricsOf, perJoule, secondsOf } from "./figures.ts";
import type { Interval } from "./interval.ts";
import { meanInterval, meanOfAll } from "./interval.ts";
import type { Metric } from "./metrics.ts";
import { seeded } from "./random.ts";
import type { PowerKind, RunSeries, Subject, Work } from "./series.ts";
import type { Statement } from "./words.ts";
import { statementsOf } from "./words.ts";

export interface Comparison {
  readonly format: "gpulse-comparison";
  readonly version: 1;
  /** What a repeat is: a recorded run, or one of the stretches a time range was cut into. */
  readonly basis: "runs" | "windows";
  /** Of each metric by itself. */
  readonly level: number;
  readonly seed: number;
  /** Whether differences are of pairs taken at the same time. */
  readonly paired: boolean;
  readonly subjects: readonly ComparedSubject[];
  readonly metrics: readonly ComparedMetric[];
  readonly statements: readonly Statement[];
  readonly caveats: readonly Caveat[];
  readonly curves: readonly Curve[];
}

export interface ComparedSubject {
  readonly name: string;
  readonly runs: readonly ComparedRun[];
}

export interface ComparedRun {
  readonly name: string;
  readonly startMs: number;
  readonly seconds: number;
  readonly samplingMs: number;
  readonly work: Work | { readonly why: string };
  readonly doubts: readonly string[];
  readonly gpus: readonly {
    readonly uuid: string;
    readonly model: string;
    readonly host: string;
    readonly simulated: boolean;
    readonly power: PowerKind;
  }[];
}

export interface ComparedMetric extends Omit<Metric, "needs" | "sampled"> {
  /** The one a reader looks at first. */
  readonly headline: boolean;
  /** In the order of the subjects. */
  readonly of: readonly SubjectFigures[];
  /** Of the second subject on, each against the first. */
  readonly differences: readonly Difference[];
}

export interface SubjectFigures {
  readonly runs: readonly Value[];
  readonly distributions: readonly (Distribution | null)[];
  readonly mean?: number;
  /** The mean's 95 % interval over repeats; absent with one. */
  readonly interval?: Interval;
  readonly why?: string;
}

export interface CompareOptions {
  readonly seed?: number;
  readonly level?: number;
  readonly basis?: Comparison["basis"];
  /** Repeats of all subjects were taken at the same times. */
  readonly paired?: boolean;
  /** Why a metric may get no verdict: its readings follow each other too closely, for one. */
  readonly untold?: (metric: Metric) => string | undefined;
  /** Each subject's whole time, where its repeats are stretches of it: for curves and distributions. */
  readonly wholes?: readonly RunSeries[];
  /** What more there is to know before reading on. */
  readonly caveats?: readonly Caveat[];
}

const SEED = 20_260_801;

export function compare(subjects: readonly Subject[], options: CompareOptions = {}): Comparison {
  const { seed = SEED, level = 0.95, basis = "runs", paired = false } = options;
  const all = metricsOf(subjects.flatMap(({ runs }) => runs));
  const judged = subjects.map((subject) => ({
    subject,
    figures: subject.runs.map((run) => figuresOf(run, all)),
  }));
  const wholes = options.wholes?.map((run) => figuresOf(run, all));
  addPerJoule([
    ...judged,
    ...(wholes === undefined
      ? []
      : [{ subject: { name: "", runs: options.wholes ?? [] }, figures: wholes }]),
  ]);
  const caveats = [
    ...(options.caveats ?? []),
    ...caveatsOf(judged, all).filter(
      ({ code }) => basis === "runs" || (code !== "repeats" && code !== "amount"),
    ),
  ];
  const told = all.filter(({ key }) => isTold(key, basis, judged));
  const headline = headlineOf(judged);
  const metrics = told.map((metric): ComparedMetric => {
    const { key, title, unit, better, as } = metric;
    const values = judged.map(({ figures }) =>
      figures.map((one): Value => one.get(key)?.value ?? { why: "no reading of it" }),
    );
    const random = seeded(seed);
    const refusal = caveats.find(
      (one) => one.level === "refused" && (one.metrics === undefined || one.metrics.includes(key)),
    );
    const untold = options.untold?.(metric);
    return {
      key,
      title,
      unit,
      as,
      ...(better === undefined ? {} : { better }),
      headline: key === headline,
      of: values.map((own, at) => ({
        ...summaryOf(own, random, wholes?.[at]?.get(key)?.value),
        distributions: (wholes === undefined
          ? (judged[at]?.figures ?? [])
          : wholes.slice(at, at + 1)
        ).map((one) => one.get(key)?.distribution ?? null),
      })),
      differences: values.slice(1).map((own, at): Difference => {
        if (refusal !== undefined) return { verdict: "untold", as, why: refusal.sentence };
        const found = differenceOf(metric, values[0] ?? [], own, { paired, level });
        const [one, other] = [wholes?.[0], wholes?.[at + 1]].map((each) => each?.get(key)?.value);
        if (found.amount === undefined && one !== undefined && other !== undefined)
          return withoutVerdict(
            differenceOf(metric, [one], [other], { paired, level }),
            "parts of the range have no reading of it",
          );
        return untold === undefined || found.verdict === "same"
          ? found
          : withoutVerdict(found, untold);
      }),
    };
  });
  const draft = { subjects: subjects.map(describe), metrics };
  return {
    format: "gpulse-comparison",
    version: 1,
    basis,
    level,
    seed,
    paired,
    ...draft,
    statements: statementsOf(draft.subjects, metrics),
    caveats,
    curves: curvesOf(
      options.wholes?.map((run, at) => ({ name: subjects[at]?.name ?? "", runs: [run] })) ??
        subjects,
      all,
    ),
  };
}

function withoutVerdict({ as, amount, ratio, why }: Difference, reason: string): Difference {
  return {
    verdict: "untold",
    as,
    why: amount === undefined ? (why ?? reason) : reason,
    ...(amount === undefined ? {} : { amount }),
    ...(ratio === undefined ? {} : { ratio }),
  };
}

interface Judged {
  readonly subject: Subject;
  readonly figures: Figures[];
}

/** By the counter only where every run of every subject has one: two ways of measuring are not one. */
function addPerJoule(judged: readonly Judged[]): void {
  const counted = judged.every(({ figures }) =>
    figures.every((one) => "value" in (one.get("energyCounter")?.value ?? { why: "" })),
  );
  const key = counted ? "energyCounter" : "energyIntegrated";
  for (const { subject, figures } of judged)
    figures.forEach((one, at) => {
      const run = subject.runs[at];
      if (run === undefined) return;
      const joules = one.get(key)?.value ?? { why: "no energy" };
      figures[at] = new Map(one).set("perJoule", { value: perJoule(run, joules) });
    });
}

/** What no subject tells is left out, but not that nobody counted work: that is worth knowing. */
function isTold(key: string, basis: Comparison["basis"], judged: readonly Judged[]): boolean {
  if (key === "perWatt" || key === "throughput") return true;
  if (basis === "windows" && (key === "duration" || key === "rise")) return false;
  const values = judged.flatMap(({ figures }) => figures.map((one) => one.get(key)?.value));
  const known = values.flatMap((one) => (one !== undefined && "value" in one ? [one.value] : []));
  return key.startsWith("throttle.") ? known.some((value) => value > 0) : known.length > 0;
}

function headlineOf(judged: readonly Judged[]): string {
  const worked = judged.every(({ figures }) =>
    figures.every((one) => "value" in (one.get("perWatt")?.value ?? { why: "" })),
  );
  return worked ? "perWatt" : "power";
}

function summaryOf(
  values: readonly Value[],
  random: () => number,
  whole: Value | undefined,
): Pick<SubjectFigures, "runs" | "mean" | "interval" | "why"> {
  const numbers = numbersOf(values);
  if ("why" in numbers) {
    if (whole !== undefined && "value" in whole) return { runs: values, mean: whole.value };
    return { runs: values, why: whole?.why ?? numbers.why };
  }
  const interval = meanInterval(numbers.values, random);
  return {
    runs: values,
    mean: whole !== undefined && "value" in whole ? whole.value : meanOfAll(numbers.values),
    ...(interval === undefined ? {} : { interval }),
  };
}

const describe = ({ name, runs }: Subject): ComparedSubject => ({
  name,
  runs: runs.map((run: RunSeries): ComparedRun => ({
    name: run.name,
    startMs: run.startMs,
    seconds: secondsOf(run),
    samplingMs: run.samplingMs,
    work: run.work,
    doubts: run.doubts,
    gpus: run.gpus.map(({ uuid, model, host, simulated, power }) => ({
      uuid,
      model,
      host,
      simulated,
      power,
    })),
  })),
});
