/** The comparison: every metric of every subject beside the first one's, as plain data for reports, the API and the web page. */
import { gpu } from "../../model/catalogue/index.ts";
import { formatBounds, formatMfu, type ReadColumn } from "../activity.ts";
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
import { type ConfidenceInterval, meanInterval, meanOfAll } from "./interval.ts";
import type { Metric } from "./metrics.ts";
import { seeded } from "./random.ts";
import {
  adviseRepeats,
  outlierSentence,
  type RepeatAdvice,
  type RepeatReview,
  reviewRepeats,
  warmUpSentence,
} from "./repeats.ts";
import type { PowerKind } from "../run.ts";
import type { ComparisonSubject, GpuSeries, RunSeries, WorkAmount } from "./series.ts";
import { differenceOfRanges } from "./windows.ts";
import { type Statement, statementsOf } from "./words.ts";

export interface Comparison {
  readonly format: "gpulse-comparison";
  readonly version: 2;
  /** What counts as a repeat: a recorded run, or one of the windows of a time range. */
  readonly basis: "runs" | "windows";
  /** The confidence level of each metric on its own. */
  readonly level: number;
  readonly seed: number;
  /** True if differences are of pairs measured at the same time. */
  readonly paired: boolean;
  readonly subjects: readonly ComparedSubject[];
  readonly metrics: readonly ComparedMetric[];
  readonly statements: readonly Statement[];
  /** The smallest difference that the repeats can detect; absent for too few of them, and for time ranges. */
  readonly advice?: RepeatAdvice;
  readonly caveats: readonly Caveat[];
  readonly curves: readonly Curve[];
}

export interface ComparedSubject {
  readonly name: string;
  /** The runs included in the figures, in the order in which they were started. */
  readonly runs: readonly ComparedRun[];
  /** Warm-up, outliers and spread of the repeats; absent for time ranges. */
  readonly repeats?: RepeatReview;
}

export interface ComparedRun {
  readonly name: string;
  readonly startMs: number;
  readonly seconds: number;
  readonly samplingMs: number;
  readonly work: WorkAmount | { readonly why: string };
  readonly doubts: readonly string[];
  /** Model FLOP utilisation, if the work is counted in FLOP and the peak of every GPU is known. */
  readonly mfu?: string;
  readonly gpus: readonly {
    readonly uuid: string;
    readonly model: string;
    readonly host: string;
    readonly simulated: boolean;
    readonly power: PowerKind;
    /** What limited the GPU's work, with shares of the time; absent if unknown. */
    readonly boundBy?: string;
  }[];
}

export interface ComparedMetric extends Omit<Metric, "needs" | "sampled"> {
  /** True for the metric to look at first. */
  readonly headline: boolean;
  /** In the order of the subjects. */
  readonly of: readonly SubjectFigures[];
  /** The differences of the second and further subjects from the first. */
  readonly differences: readonly Difference[];
}

export interface SubjectFigures {
  readonly runs: readonly FigureValue[];
  readonly distributions: readonly (Distribution | null)[];
  readonly mean?: number;
  /** The mean's 95 % confidence interval over repeats; absent for a single repeat, and for a time range. */
  readonly interval?: ConfidenceInterval;
  readonly why?: string;
}

export interface CompareOptions {
  readonly seed?: number;
  readonly level?: number;
  readonly basis?: Comparison["basis"];
  /** True if the repeats of all subjects were measured at the same times. */
  readonly paired?: boolean;
  /** Each subject's whole range, if its repeats are windows of it. */
  readonly wholes?: readonly RunSeries[];
  /** True to exclude no repeat as warm-up. */
  readonly keepsWarmUp?: boolean;
  /** Additional caveats for the reader. */
  readonly caveats?: readonly Caveat[];
}

const SEED = 20_260_801;

export function compare(
  given: readonly ComparisonSubject[],
  options: CompareOptions = {},
): Comparison {
  const { seed = SEED, level = 0.95, basis = "runs", paired = false } = options;
  const all = metricsOf(given.flatMap(({ runs }) => runs));
  const recorded = given.map((subject): SubjectFiguresBuilder => {
    const runs =
      basis === "runs"
        ? subject.runs.toSorted((one, other) => one.startMs - other.startMs)
        : subject.runs;
    return { subject: { ...subject, runs }, figures: runs.map((run) => figuresOf(run, all)) };
  });
  const wholes = options.wholes?.map((run) => figuresOf(run, all));
  addPerJoule([
    ...recorded,
    ...(wholes === undefined
      ? []
      : [{ subject: { name: "", runs: options.wholes ?? [] }, figures: wholes }]),
  ]);
  const headline = headlineOf(wholes ?? recorded.flatMap(({ figures }) => figures));
  const reviews = recorded.map((one) =>
    basis === "runs" ? reviewOf(one, headline, options) : undefined,
  );
  const judged = recorded.map((one, at) => withoutWarmUp(one, reviews[at]));
  const subjects = judged.map(({ subject }) => subject);
  const advice = adviseRepeats(reviews);
  const caveats = [
    ...(options.caveats ?? []),
    ...reviews.flatMap((review, at) => repeatCaveats(subjects[at]?.name ?? "", review)),
    ...caveatsOf(judged, all).filter(
      ({ code }) => basis === "runs" || (code !== "repeats" && code !== "amount"),
    ),
  ];
  const reported = all.filter(({ key }) => isMetricReported(key, basis, judged));
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
  const draft = {
    subjects: subjects.map((subject, at) => describe(subject, reviews[at])),
    metrics,
  };
  return {
    format: "gpulse-comparison",
    version: 2,
    basis,
    level,
    seed,
    paired,
    ...draft,
    statements: statementsOf(draft.subjects, metrics),
    ...(advice === undefined ? {} : { advice }),
    caveats,
    curves: curvesOf(
      options.wholes?.map((run, at) => ({ name: subjects[at]?.name ?? "", runs: [run] })) ??
        subjects,
      all,
    ),
  };
}

const reviewOf = (
  { subject, figures }: SubjectFiguresBuilder,
  headline: string,
  { keepsWarmUp = false }: CompareOptions,
): RepeatReview | undefined =>
  reviewRepeats(
    subject.runs.map(({ name }, at) => ({ run: name, figures: figures[at] ?? new Map() })),
    headline,
    !keepsWarmUp,
  );

function withoutWarmUp(
  { subject, figures }: SubjectFiguresBuilder,
  review: RepeatReview | undefined,
): SubjectFiguresBuilder {
  const first = review?.warmUp.length ?? 0;
  return {
    subject: { ...subject, runs: subject.runs.slice(first) },
    figures: figures.slice(first),
  };
}

const repeatCaveats = (name: string, review: RepeatReview | undefined): readonly Caveat[] => [
  ...(review?.warmUp ?? []).map((one): Caveat => ({
    level: "note",
    code: "warm-up",
    sentence: `${name}: ${warmUpSentence(one)}.`,
  })),
  ...(review?.outliers ?? []).map((one): Caveat => ({
    level: "warning",
    code: "outlier",
    sentence: `${name}: ${outlierSentence(one)}.`,
  })),
];

/** The resolution of a reading; for a metric derived from power, scaled by the relative resolution of the power. */
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

/** Uses the energy counter only if every run of every subject has one: the two ways of measuring must not be mixed. */
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

/** A metric that no subject reports is omitted, except for missing work, which the reader should know about. */
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

const describe = (
  { name, runs }: ComparisonSubject,
  repeats: RepeatReview | undefined,
): ComparedSubject => ({
  name,
  runs: runs.map(describeRun),
  ...(repeats === undefined ? {} : { repeats }),
});

function describeRun(run: RunSeries): ComparedRun {
  const seconds = secondsOf(run);
  const columns = new Map(run.gpus.map((one) => [one.uuid, columnsDuring(run, one)] as const));
  const none: ReadColumn = () => [];
  const mfu = formatMfu(
    {
      ...("why" in run.work ? {} : { work: run.work }),
      durationSeconds: seconds,
      devices: run.gpus,
    },
    (uuid) => columns.get(uuid) ?? none,
  );
  return {
    name: run.name,
    startMs: run.startMs,
    seconds,
    samplingMs: run.samplingMs,
    work: run.work,
    doubts: run.doubts,
    ...(mfu === undefined ? {} : { mfu }),
    gpus: run.gpus.map(({ uuid, model, host, simulated, power }) => {
      const boundBy = formatBounds(columns.get(uuid) ?? none);
      return {
        uuid,
        model,
        host,
        simulated,
        power,
        ...(boundBy === undefined ? {} : { boundBy }),
      };
    }),
  };
}

const columnsDuring =
  ({ startMs, endMs }: RunSeries, { timeMs, columns }: GpuSeries): ReadColumn =>
  (name) =>
    [...(columns.get(name) ?? [])].filter((value, at) => {
      const time = timeMs[at] ?? Number.NaN;
      return !Number.isNaN(value) && time >= startMs && time <= endMs;
    });
