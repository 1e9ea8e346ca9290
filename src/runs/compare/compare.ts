/** The comparison: every metric of every subject beside the first one's, as plain data that reports, API and page show alike. */
import { gpu } from "../../model/catalogue/index.ts";
import { type Caveat, caveatsOf } from "./caveats.ts";
import { type Curve, curvesOf } from "./curves.ts";
import { type Difference, differenceOf, numbersOf } from "./difference.ts";
import type { Distribution } from "./distribution.ts";
import {
  type Figures,
  figuresOf,
  type FigureValue,
  metricsOf,
  noReading,
  perJoule,
  secondsOf,
} from "./figures.ts";
import { type Interval, meanInterval, meanOfAll } from "./interval.ts";
import type { Metric } from "./metrics.ts";
import { seeded } from "./random.ts";
import type { PowerKind } from "../run.ts";
import type { RunSeries, ComparisonSubject, WorkAmount } from "./series.ts";
import { differenceOfRanges } from "./windows.ts";
import { type Statement, statementsOf } from "./words.ts";

export interface Comparison {
  readonly format: "gpulse-comparison";
  readonly version: 2;
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
  readonly work: WorkAmount | { readonly why: string };
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
  readonly runs: readonly FigureValue[];
  readonly distributions: readonly (Distribution | null)[];
  readonly mean?: number;
  /** The mean's 95 % interval over repeats; absent with one, and of a time range. */
  readonly interval?: Interval;
  readonly why?: string;
}

export interface CompareOptions {
  readonly seed?: number;
  readonly level?: number;
  readonly basis?: Comparison["basis"];
  /** Repeats of all subjects were taken at the same times. */
  readonly paired?: boolean;
  /** Each subject's whole time, where its repeats are windows of it. */
  readonly wholes?: readonly RunSeries[];
  /** What more there is to know before reading on. */
  readonly caveats?: readonly Caveat[];
}

const SEED = 20_260_801;

export function compare(
  subjects: readonly ComparisonSubject[],
  options: CompareOptions = {},
): Comparison {
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
  const reported = all.filter(({ key }) => isMetricReported(key, basis, judged));
  const headline = headlineOf(wholes ?? judged.flatMap(({ figures }) => figures));
  const metrics = reported.map((metric): ComparedMetric => {
    const { key, title, unit, better, as } = metric;
    const values = judged.map(({ figures }) =>
      figures.map((one): FigureValue => one.get(key)?.value ?? noReading),
    );
    const random = seeded(seed);
    const refusal = caveats.find(
      (one) => one.level === "refused" && (one.metrics === undefined || one.metrics.includes(key)),
    );
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
        if (refusal !== undefined) return { verdict: "not-compared", as, why: refusal.sentence };
        const found = wholes ?? judged.map(({ figures }) => figures[0]);
        const settings = { paired, level, resolution: resolutionOf(metric, found[0]) };
        const watched = [0, at + 1].map((subject) => {
          const whole = options.wholes?.[subject];
          const value = wholes?.[subject]?.get(key)?.value ?? noReading;
          return whole && { whole, value, windows: values[subject] ?? [] };
        });
        const [one, other] = watched;
        return one === undefined || other === undefined
          ? differenceOf(metric, values[0] ?? [], own, settings)
          : differenceOfRanges(metric, one, other, settings);
      }),
    };
  });
  const draft = { subjects: subjects.map(describe), metrics };
  return {
    format: "gpulse-comparison",
    version: 2,
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

/** The step of a reading; of what is worked out of power, as large a share of it as power's step is of the power. */
function resolutionOf({ key, resolution, needs }: Metric, figures: Figures | undefined): number {
  if (resolution !== undefined || !needs.includes("power")) return resolution ?? 0;
  const [value, watts] = [key, "power"].map((one) => figures?.get(one)?.value ?? noReading);
  if (value === undefined || watts === undefined || "why" in value || "why" in watts) return 0;
  return watts.value > 0 ? (value.value * gpu.power.resolution) / watts.value : 0;
}

interface SubjectFiguresBuilder {
  readonly subject: ComparisonSubject;
  readonly figures: Figures[];
}

/** By the counter only where every run of every subject has one: two ways of measuring are not one. */
function addPerJoule(judged: readonly SubjectFiguresBuilder[]): void {
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

/** A metric that no subject reports is left out, except for missing work: that is worth knowing. */
function isMetricReported(
  key: string,
  basis: Comparison["basis"],
  judged: readonly SubjectFiguresBuilder[],
): boolean {
  if (key === "perWatt" || key === "throughput") return true;
  if (basis === "windows" && (key === "duration" || key === "rise")) return false;
  const values = judged.flatMap(({ figures }) => figures.map((one) => one.get(key)?.value));
  const known = values.flatMap((one) => (one !== undefined && "value" in one ? [one.value] : []));
  return key.startsWith("throttle.") ? known.some((value) => value > 0) : known.length > 0;
}

function headlineOf(figures: readonly Figures[]): string {
  const worked = figures.every((one) => "value" in (one.get("perWatt")?.value ?? noReading));
  return worked ? "perWatt" : "power";
}

function summaryOf(
  values: readonly FigureValue[],
  random: () => number,
  whole: FigureValue | undefined,
): Pick<SubjectFigures, "runs" | "mean" | "interval" | "why"> {
  if (whole !== undefined)
    return "why" in whole ? { runs: values, why: whole.why } : { runs: values, mean: whole.value };
  const numbers = numbersOf(values);
  if ("why" in numbers) return { runs: values, why: numbers.why };
  const interval = meanInterval(numbers.values, random);
  return {
    runs: values,
    mean: meanOfAll(numbers.values),
    ...(interval === undefined ? {} : { interval }),
  };
}

const describe = ({ name, runs }: ComparisonSubject): ComparedSubject => ({
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
