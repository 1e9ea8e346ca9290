/** info(): adds the labels of info metrics (target_info by default) that describe the same target. */
import { labelKey, labelValue, type Label, type LabelSet } from "../../../model/labels.ts";
import { type Call, childrenOf, type Expr, type VectorSelector } from "../../ast.ts";
import { typeOf } from "../../check.ts";
import { duplicateLabels, executionError } from "../../errors.ts";
import { metricName, printLabels, withLabel } from "../../labels.ts";
import { matchAll, predicate } from "../../matcher.ts";
import type { Matcher } from "../../../model/select.ts";
import { newSeries, refTimes, type EvalScope } from "../scope.ts";
import { newestOf, type Pick } from "../selector.ts";
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
    out.set(key, (series = newSeries(scope, labels, one.dropName)));
  }
  if (series.present[step] !== 0) throw executionError(duplicateLabels);
  const histogram = histogramAt(one, step);
  if (histogram !== undefined) return putHistogram(series, step, histogram);
  series.values[step] = one.values[step] ?? 0;
  series.present[step] = 1;
}

/** A selector that only excludes names selects all metrics that end in _info. */
function nameMatchers(given: readonly Matcher[]): readonly Matcher[] {
  if (given.some(({ op }) => op === "=" || op === "=~")) return given;
  if (given.length > 0) return [{ name: "__name__", op: "=~", value: ".+_info" }, ...given];
  return [{ name: "__name__", op: "=", value: "target_info" }];
}

/** Info series with the timestamp of their newest sample, in milliseconds, as the value. */
async function fetchInfos(
  base: readonly StepSeries[],
  ignored: ReadonlySet<StepSeries>,
  matchers: readonly Matcher[],
  expr: Expr | undefined,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const groups = identifyingGroups(base.filter((one) => !ignored.has(one)));
  if (groups.length === 0) return [];
  const { run, grid } = scope;
  const shift = (expr === undefined ? undefined : sharedShift(expr)) ?? { offsetMs: 0 };
  const fromMs = (shift.atMs ?? grid.startMs) - shift.offsetMs - run.options.lookbackMs + 1;
  const toMs = (shift.atMs ?? grid.endMs) - shift.offsetMs;
  const selected = await run.queryable.select(matchers, fromMs, toMs, run.options.signal);
  run.annotations.addFromStore(selected);
  const ours = selected.filter(({ labels }) => groups.some((group) => group(labels)));
  return newestOf(ours, scope, refTimes(shift, scope), timeOfFloat);
}

const timeOfFloat: Pick = (column, index, labels) => {
  if (column.histograms?.[index] !== undefined)
    throw executionError(
      `this should be an info metric, with float samples: ${printLabels(labels)}`,
    );
  return column.times[index] ?? 0;
};

/** Predicates for candidate info series: the same identifying labels, each with a value that occurs in the base series. */
function identifyingGroups(base: readonly StepSeries[]): ((labels: LabelSet) => boolean)[] {
  const groups = new Map<string, ReadonlyMap<string, Set<string>>>();
  for (const { labels } of base) {
    const names = identifying.filter((name) => (labelValue(labels, name) ?? "") !== "");
    if (names.length === 0) continue;
    const key = names.join();
    const values = groups.get(key) ?? new Map(names.map((name) => [name, new Set<string>()]));
    groups.set(key, values);
    for (const [name, seen] of values) seen.add(labelValue(labels, name) ?? "");
  }
  return [...groups.values()].map(
    (values) => (labels) =>
      identifying.every((name) => {
        const value = labelValue(labels, name) ?? "";
        return values.get(name)?.has(value) ?? value === "";
      }),
  );
}

interface Shift {
  readonly atMs?: number | undefined;
  readonly offsetMs: number;
}

/** The time shift that all selectors of the expression share; undefined if they differ or if a part has no selector. */
export function sharedShift(expr: Expr): Shift | undefined {
  const shifts = selectorShifts(expr, []);
  const [first] = shifts;
  if (first === undefined || first === "none") return undefined;
  const isShared = shifts.every((one) => one !== "none" && isSameTime(one, first));
  return isShared ? first : undefined;
}

const isSameTime = (a: Shift, b: Shift): boolean =>
  a.atMs === undefined || b.atMs === undefined
    ? a.atMs === b.atMs && a.offsetMs === b.offsetMs
    : a.atMs - a.offsetMs === b.atMs - b.offsetMs;

/** The shift of each selector, including the subqueries around it; "none" for a vector without a selector. */
function selectorShifts(expr: Expr, around: readonly Shift[]): readonly (Shift | "none")[] {
  const type = typeOf(expr);
  if (type !== "vector" && type !== "matrix") return [];
  if (expr.kind === "vector") return [shiftOf(expr, around)];
  const inner = expr.kind === "subquery" ? [...around, expr] : around;
  // The second argument of info() has the form of a selector but selects nothing by itself.
  const isInfo = expr.kind === "call" && expr.name === "info";
  const children = isInfo ? expr.args.slice(0, 1) : childrenOf(expr);
  const found = children.flatMap((child) => selectorShifts(child, inner));
  return found.some((one) => one !== "none") ? found : [...found, "none"];
}

/** Offsets of the subqueries around a selector add up, until an @ determines the time. */
function shiftOf(selector: VectorSelector, around: readonly Shift[]): Shift {
  let { atMs, offsetMs } = selector;
  for (const outer of around.toReversed()) {
    if (atMs !== undefined) break;
    offsetMs += outer.offsetMs;
    atMs = outer.atMs;
  }
  return { atMs, offsetMs };
}

function targetKey(name: string, labels: LabelSet): string {
  return JSON.stringify([name, ...identifying.map((label) => labelValue(labels, label) ?? "")]);
}

interface Newest {
  readonly byTarget: ReadonlyMap<string, StepSeries>;
  readonly names: ReadonlySet<string>;
}

/**
 * Of several info series for one target, the one with the newest sample counts; two with the same timestamp are
 * ambiguous.
 */
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

/** Adds the labels of the matching info series, or returns undefined if the matchers require labels that do not exist. */
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
