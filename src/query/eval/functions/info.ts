/** info(): adds the labels of info metrics (target_info by default) that describe the same target. */
import { labelKey, labelValue, type Label, type LabelSet } from "../../../model/labels.ts";
import type { Call, Expr, VectorSelector } from "../../ast.ts";
import { duplicateLabels, executionError } from "../../errors.ts";
import { metricName, printLabels, withLabel } from "../../labels.ts";
import { matchAll, predicate } from "../../matcher.ts";
import type { Matcher } from "../../../model/select.ts";
import { timeAt } from "../grid.ts";
import { newSeries, type EvalScope } from "../scope.ts";
import { newestOf } from "../selector.ts";
import { histogramAt, putHistogram, type StepSeries } from "../value.ts";

const identifying = ["instance", "job"] as const;

export async function evalInfo(
  call: Call,
  base: readonly StepSeries[],
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const selector = call.args[1];
  const matchers = selector?.kind === "vector" ? selector.matchers : [];
  const names = nameMatchers(matchers.filter(({ name }) => name === "__name__"));
  const data = matchers.filter(({ name }) => name !== "__name__");
  const isInfo = matchAll(names);
  const ignored = new Set(base.filter((one) => isInfo([["__name__", metricName(one.labels)]])));
  const infos = await fetchInfos(base, ignored, [...names, ...data], call.args[0], scope);
  const out = new Map<string, StepSeries>();
  for (let step = 0; step < scope.grid.count; step++) {
    const newest = newestPerTarget(infos, step);
    if (scope.run.isDue(base.length)) await scope.run.breathe();
    for (const one of base) {
      if (one.present[step] === 0) continue;
      const labels = ignored.has(one) ? one.labels : describe(one.labels, newest, data);
      if (labels !== undefined) put(out, labels, one, step, scope);
    }
  }
  return [...out.values()];
}

function put(
  out: Map<string, StepSeries>,
  labels: LabelSet,
  one: StepSeries,
  step: number,
  scope: EvalScope,
): void {
  const key = labelKey(labels);
  let series = out.get(key);
  if (series === undefined) {
    out.set(key, (series = newSeries(scope, labels, false)));
  }
  if (series.present[step] !== 0) throw executionError(duplicateLabels);
  const histogram = histogramAt(one, step);
  if (histogram !== undefined) return putHistogram(series, step, histogram);
  series.values[step] = one.values[step] ?? 0;
  series.present[step] = 1;
}

/** A selector that only excludes names looks among all metrics that end in _info. */
function nameMatchers(given: readonly Matcher[]): readonly Matcher[] {
  if (given.some(({ op }) => op === "=" || op === "=~")) return given;
  if (given.length > 0) return [{ name: "__name__", op: "=~", value: ".+_info" }, ...given];
  return [{ name: "__name__", op: "=", value: "target_info" }];
}

/** Info series with the time of their newest sample, in milliseconds, in place of their value. */
async function fetchInfos(
  base: readonly StepSeries[],
  ignored: ReadonlySet<StepSeries>,
  matchers: readonly Matcher[],
  expr: Expr | undefined,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const described = base.filter((one) => !ignored.has(one));
  const wanted = identifying.map((name) => ({
    name,
    values: new Set(described.flatMap((one) => labelValue(one.labels, name) ?? [])),
  }));
  if (wanted.every(({ values }) => values.size === 0)) return [];
  const { run, grid } = scope;
  const first = expr === undefined ? undefined : firstSelector(expr);
  const offsetMs = first?.offsetMs ?? 0;
  const fromMs = (first?.atMs ?? grid.startMs) - offsetMs - run.options.lookbackMs + 1;
  const toMs = (first?.atMs ?? grid.endMs) - offsetMs;
  const selected = await run.queryable.select(matchers, fromMs, toMs, run.options.signal);
  run.annotations.addFromStore(selected.warnings);
  const ours = selected.filter(({ labels }) =>
    wanted.every(
      ({ name, values }) => values.size === 0 || values.has(labelValue(labels, name) ?? ""),
    ),
  );
  const refs = new Float64Array(grid.count).map((_, step) => timeAt(grid, step));
  return newestOf(ours, scope, refs, (column, index) => column.times[index] ?? 0);
}

function firstSelector(expr: Expr): VectorSelector | undefined {
  if (expr.kind === "vector") return expr;
  if (expr.kind === "matrix") return expr.selector;
  const inner =
    expr.kind === "call"
      ? expr.args
      : expr.kind === "binary"
        ? [expr.lhs, expr.rhs]
        : expr.kind === "aggregate" ||
            expr.kind === "unary" ||
            expr.kind === "paren" ||
            expr.kind === "subquery"
          ? [expr.expr]
          : [];
  for (const child of inner) {
    const found = firstSelector(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function targetKey(name: string, labels: LabelSet): string {
  return JSON.stringify([name, ...identifying.map((label) => labelValue(labels, label) ?? "")]);
}

interface Newest {
  readonly byTarget: ReadonlyMap<string, StepSeries>;
  readonly names: ReadonlySet<string>;
}

/** Of several info series for one target the one written last counts; two written at once are ambiguous. */
function newestPerTarget(infos: readonly StepSeries[], step: number): Newest {
  const byTarget = new Map<string, StepSeries>();
  for (const info of infos) {
    if (info.present[step] !== 1) continue;
    const key = targetKey(metricName(info.labels), info.labels);
    const before = byTarget.get(key);
    const newTime = info.values[step] ?? 0;
    const oldTime = before?.values[step] ?? -Infinity;
    if (before !== undefined && newTime === oldTime) {
      const both = `existing ${printLabels(before.labels)} @ ${oldTime}, new ${printLabels(info.labels)} @ ${newTime}`;
      throw executionError(`found duplicate series for info metric: ${both}`);
    }
    if (newTime > oldTime) byTarget.set(key, info);
  }
  return { byTarget, names: new Set(infos.map((info) => metricName(info.labels))) };
}

/** The labels with those of the matching info series added, or undefined when the matchers demand labels that do not exist. */
function describe(
  labels: LabelSet,
  newest: Newest,
  data: readonly Matcher[],
): LabelSet | undefined {
  const wanted = new Set(data.map(({ name }) => name));
  const added = new Map<string, string>();
  let matched = false;
  for (const name of newest.names) {
    const info = newest.byTarget.get(targetKey(name, labels));
    if (info === undefined) continue;
    matched = true;
    for (const label of info.labels) addLabel(label, labels, wanted, added);
  }
  if (!matched && data.some((matcher) => !predicate(matcher)(""))) return undefined;
  let out = labels;
  for (const [name, value] of added) out = withLabel(out, name, value);
  return out;
}

function addLabel(
  [name, value]: Label,
  base: LabelSet,
  wanted: ReadonlySet<string>,
  added: Map<string, string>,
): void {
  if (name === "__name__" || (wanted.size > 0 && !wanted.has(name))) return;
  const before = added.get(name);
  if (before !== undefined && before !== value) throw executionError(`conflicting label: ${name}`);
  if (labelValue(base, name) === undefined) added.set(name, value);
}
