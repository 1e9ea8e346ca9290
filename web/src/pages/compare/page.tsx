/** Compares GPUs, hosts or times: power and work of each, each metric in one chart, and the significance of differences. */
import { useMemo, useRef } from "preact/hooks";
import type { SubjectFigures } from "../../../../src/runs/compare/compare.ts";
import { useTitle } from "../../app/title.ts";
import { Chart } from "../../chart/chart.tsx";
import type { ChartData, ChartQuery } from "../../chart/model.ts";
import { Empty } from "../../ui/banner.tsx";
import { knownGpus, useKnownGpus } from "../../query/known-gpus.ts";
import { gridOf } from "../../query/columns.ts";
import { useFetch } from "../../query/use-fetch.ts";
import { range, rangeMs, timeWindow } from "../../view-state/time.ts";
import { stepMsFor } from "../../../../src/view/step.ts";
import { type ChosenSubject, groupSubjects, toChosenSubjects } from "./chosen-subjects.ts";
import { liveAddress, useComparison } from "./api.ts";
import { DifferenceTable } from "./difference-table.tsx";
import { fetchSubjectFacts } from "./facts.ts";
import { type FactSource, FactsTable, type WorkDone } from "./facts-table.tsx";
import { type CompareMetricSpec, compareMetricSpecs, isOf, queryOf } from "./metrics.ts";
import { Picker } from "./picker.tsx";
import { Runs } from "./runs.tsx";
import { Suggestions } from "./suggestions.tsx";
import { type CurveQuery, type Curves, useCurves } from "../../query/use-curves.ts";
import { chosen, runs, work } from "./view.ts";
import { Reports, ComparisonText } from "./comparison-text.tsx";
import { WorkField } from "./work-field.tsx";
import "./compare.css";

/** Width that decides the number of points: enough for percentiles, few enough to refresh. */
const WIDTH_PX = 2_000;
/** Refresh interval of figures over the whole range, which change slowly. */
const FACTS_EVERY_MS = 15_000;

export function Page() {
  useKnownGpus();
  const { fromMs, toMs } = timeWindow.value;
  const stepMs = stepMsFor(rangeMs.value, WIDTH_PX);
  const compared = toChosenSubjects(chosen(), knownGpus.value, fromMs, stepMs);
  useTitle(compared.length === 0 ? undefined : compared.map(({ label }) => label).join(" beside "));
  return (
    <>
      <Picker compared={compared} known={knownGpus.value} />
      {runs.value.length > 0 && <Runs ids={runs.value} />}
      {compared.length === 0 ? (
        runs.value.length === 0 && <Suggestions known={knownGpus.value} />
      ) : (
        <Beside compared={compared} fromMs={fromMs} toMs={toMs} stepMs={stepMs} />
      )}
    </>
  );
}

interface BesideProps {
  readonly compared: readonly ChosenSubject[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
}

function Beside({ compared, fromMs, toMs, stepMs }: BesideProps) {
  const grid = gridOf(fromMs, toMs, stepMs);
  const groups = groupSubjects(compared);
  const workQuery = work.value.trim();
  const asks = groups.flatMap((group): CurveQuery[] => {
    const names = group.members.map(({ subject }) => subject.name);
    return compareMetricSpecs.map((metric) => ({
      key: askKey(metric.key, group.members[0]),
      query: queryOf(metric, group.kind, names, rangeMs.value),
      shiftMs: group.shiftMs,
    }));
  });
  const { curves, error, loading } = useCurves(asks, grid);
  const valuesOf = (metric: CompareMetricSpec, one: ChosenSubject) =>
    valuesIn(curves, metric.key, one);
  const factsAtMs = Math.floor(toMs / FACTS_EVERY_MS) * FACTS_EVERY_MS;
  const subjects = compared.map(({ key }) => key).join();
  const fetched = useFetch(JSON.stringify([subjects, factsAtMs, rangeMs.value]), (signal) =>
    fetchSubjectFacts(groups, rangeMs.value, toMs, signal),
  );
  const facts = useLastValue(subjects + String(rangeMs.value), fetched.value);
  // A live range is compared again at this interval, a fixed one only once.
  const untilMs = range.value.kind === "last" ? factsAtMs : toMs;
  const address = liveAddress(compared, untilMs - (toMs - fromMs), untilMs, workQuery);
  const asked = useComparison(address);
  const isUnknown = asked.error?.type === "not_found";
  const comparison = useLastValue(subjects + workQuery + String(rangeMs.value), asked.value);
  const awaited = new Set<FactSource>([
    ...(facts === undefined && fetched.loading ? (["facts"] as const) : []),
    ...(comparison === undefined && asked.loading ? (["comparison"] as const) : []),
  ]);
  const meanOf = (key: string, at: number) =>
    comparison?.metrics.find((metric) => metric.key === key)?.of[at];
  const reported = compareMetricSpecs.filter(
    (metric) => curves === undefined || compared.some((one) => valuesOf(metric, one) !== undefined),
  );
  return (
    <>
      {isUnknown && <Empty title={asked.error?.message ?? ""} />}
      {comparison !== undefined && <ComparisonText comparison={comparison} />}
      <FactsTable
        awaited={awaited}
        standings={compared.map((one, at) => ({
          compared: one,
          facts: facts?.get(one.key),
          meanWatts: meanOf("power", at)?.mean,
          work: workDone(meanOf("throughput", at), meanOf("perWatt", at), workQuery !== ""),
        }))}
      />
      <WorkField error={workQuery !== "" && !isUnknown ? asked.error?.message : undefined} />
      <h2 class="section">
        Curves{compared.some(({ shiftMs }) => shiftMs !== 0) && ", aligned at their start"}
      </h2>
      <div class="chart-grid">
        {reported.map((metric) => (
          <MetricChart
            key={metric.key}
            {...{ metric, curves, compared, error, loading }}
            queries={asks.flatMap(({ key, query, shiftMs }) =>
              shiftMs === 0 && key.startsWith(`${metric.key} `)
                ? [{ query, label: metric.title }]
                : [],
            )}
          />
        ))}
      </div>
      {comparison !== undefined && (
        <>
          <DifferenceTable
            comparison={comparison}
            colours={compared.map(({ colour, subject }) => ({
              colour,
              dashed: subject.when !== undefined,
            }))}
          />
          <Reports address={address} />
        </>
      )}
    </>
  );
}

/** Keeps the last figures while the next ones load. */
function useLastValue<Value>(key: string, value: Value | undefined): Value | undefined {
  const latest = useRef<{ key: string; value: Value } | undefined>(undefined);
  if (value !== undefined) latest.current = { key, value };
  return latest.current?.key === key ? latest.current.value : undefined;
}

const askKey = (what: string, one: ChosenSubject | undefined): string =>
  `${what} ${one?.subject.kind ?? ""} ${one?.shiftMs ?? 0}`;

function valuesIn(
  curves: Curves | undefined,
  what: string,
  one: ChosenSubject,
): Float64Array | undefined {
  return curves?.matrices
    .get(askKey(what, one))
    ?.series.find(({ labels }) => isOf(one.subject, labels))?.values;
}

function workDone(
  rate: SubjectFigures | undefined,
  perWatt: SubjectFigures | undefined,
  asked: boolean,
): WorkDone {
  if (rate?.mean === undefined)
    return { why: rate?.why ?? (asked ? "no answer" : "no work counter given") };
  if (perWatt?.mean === undefined) return { why: perWatt?.why ?? "no power samples" };
  return { work: rate.mean, perJoule: perWatt.mean };
}

interface MetricChartProps {
  readonly metric: CompareMetricSpec;
  readonly curves: Curves | undefined;
  readonly compared: readonly ChosenSubject[];
  readonly queries: readonly ChartQuery[];
  readonly error: ReturnType<typeof useCurves>["error"];
  readonly loading: boolean;
}

function MetricChart({ metric, curves, compared, queries, error, loading }: MetricChartProps) {
  const data = useMemo((): ChartData | undefined => {
    if (curves === undefined) return undefined;
    const lines = compared.flatMap((one) => {
      const values = valuesIn(curves, metric.key, one);
      if (values === undefined) return [];
      return [
        {
          key: one.key,
          label: one.label,
          values,
          colour: one.colour,
          labels: { [one.subject.kind === "gpu" ? "uuid" : "host"]: one.subject.name },
          ...(one.subject.when === undefined ? {} : { dashed: true }),
        },
      ];
    });
    const { startMs, endMs } = curves.grid;
    return { grid: curves.grid, window: { fromMs: startMs, toMs: endMs }, lines };
  }, [curves, compared.map(({ key, label }) => key + label).join()]);
  return (
    <Chart
      {...metric}
      {...{ data, loading, queries }}
      error={curves === undefined ? error : undefined}
    />
  );
}
