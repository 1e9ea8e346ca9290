/** Function calls: dispatches to the function's implementation. Arguments are passed without surrounding parentheses. */
import type { Call, Expr } from "../../ast.ts";
import { noLabels } from "../../../model/labels.ts";
import { goMax, goMin } from "../arithmetic.ts";
import { timeAt } from "../grid.ts";
import type { EvalScope } from "../scope.ts";
import { evalStartTimes, evalTimestamps } from "../selector.ts";
import { asScalar, asVector, isFloat, vectorOf, type StepSeries, type Value } from "../value.ts";
import { runWindows, windowFunctions } from "../windows/run.ts";
import { absent } from "./absent.ts";
import { dateFunctions, mapDates } from "./calendar.ts";
import {
  histogramFraction,
  histogramQuantile,
  histogramQuantiles,
  nativeFunctions,
  ofEachNative,
} from "./histogram.ts";
import { evalInfo } from "./info.ts";
import { labelJoin, labelReplace } from "./labels.ts";
import { clamp, mapSeries, mathFunctions, roundTo } from "./math.ts";
import { sortByLabel, sortByValue } from "./sort.ts";

export async function evalCall(call: Call, scope: EvalScope): Promise<Value> {
  const { name } = call;
  if (windowFunctions[name] !== undefined) return vectorOf(await runWindows(call, scope));
  const simple = mathFunctions[name];
  if (simple !== undefined)
    return vectorOf(await mapSeries(await vectorArg(call, 0, scope), scope, simple));
  const date = dateFunctions[name];
  if (date !== undefined) {
    return vectorOf(
      await mapDates(
        call.args.length === 0 ? undefined : await vectorArg(call, 0, scope),
        scope,
        date,
      ),
    );
  }
  const scalarAnswer = await scalarFunction(call, scope);
  if (scalarAnswer !== undefined) return { type: "scalar", values: scalarAnswer };
  return vectorOf(await vectorFunction(call, scope));
}

async function scalarFunction(call: Call, scope: EvalScope): Promise<Float64Array | undefined> {
  const { count } = scope.grid;
  switch (call.name) {
    case "pi":
      return new Float64Array(count).fill(Math.PI);
    case "time":
      return new Float64Array(count).map((_, step) => timeAt(scope.grid, step) / 1000);
    case "scalar":
      return onlyValue(await vectorArg(call, 0, scope), count);
    case "min_of":
    case "max_of": {
      const pick = call.name === "min_of" ? goMin : goMax;
      const left = await scalarArg(call, 0, scope);
      const right = await scalarArg(call, 1, scope);
      return left.map((value, step) => pick(value, right[step] ?? Number.NaN));
    }
    default:
      return undefined;
  }
}

async function vectorFunction(call: Call, scope: EvalScope): Promise<readonly StepSeries[]> {
  const { name, args } = call;
  const { count } = scope.grid;
  switch (name) {
    case "vector": {
      const values = await scalarArg(call, 0, scope);
      return [
        { labels: noLabels, dropName: false, values, present: new Uint8Array(count).fill(1) },
      ];
    }
    case "absent":
      return absent(argAt(call, 0), await vectorArg(call, 0, scope), scope);
    case "timestamp": {
      const arg = argAt(call, 0);
      const own = arg.kind === "vector" ? await evalTimestamps(arg, scope) : undefined;
      if (own !== undefined) return mapSeries(own, scope, (value) => value);
      // Native histograms have a timestamp as well.
      const dated = (await vectorArg(call, 0, scope)).map((one) => ({
        ...one,
        present: one.present.map((is) => (is === 0 ? 0 : isFloat)),
        histograms: undefined,
      }));
      return mapSeries(dated, scope, (_, step) => timeAt(scope.grid, step) / 1000);
    }
    case "clamp":
    case "clamp_min":
    case "clamp_max":
      return clamp(await vectorArg(call, 0, scope), ...(await bounds(call, scope)), scope);
    case "round": {
      const nearest =
        args.length > 1 ? await scalarArg(call, 1, scope) : new Float64Array(count).fill(1);
      return roundTo(await vectorArg(call, 0, scope), nearest, scope);
    }
    case "sort":
    case "sort_desc":
      return sortByValue(await vectorArg(call, 0, scope), name === "sort", call.span, scope);
    case "sort_by_label":
    case "sort_by_label_desc":
      return sortByLabel(
        await vectorArg(call, 0, scope),
        stringArgs(call, 1),
        name === "sort_by_label",
        call.span,
        scope,
      );
    case "label_replace":
      return labelReplace(stringArgs(call, 1), () => vectorArg(call, 0, scope), scope);
    case "label_join":
      return labelJoin(stringArgs(call, 1), () => vectorArg(call, 0, scope), scope);
    case "histogram_quantile":
      return histogramQuantile(
        await scalarArg(call, 0, scope),
        await vectorArg(call, 1, scope),
        call,
        scope,
      );
    case "histogram_quantiles": {
      const quantiles: Float64Array[] = [];
      for (let index = 2; index < args.length; index++)
        quantiles.push(await scalarArg(call, index, scope));
      return histogramQuantiles(
        await vectorArg(call, 0, scope),
        stringArgs(call, 1)[0] ?? "",
        quantiles,
        call,
        scope,
      );
    }
    case "histogram_fraction": {
      const lower = await scalarArg(call, 0, scope);
      return histogramFraction(
        lower,
        await scalarArg(call, 1, scope),
        await vectorArg(call, 2, scope),
        call,
        scope,
      );
    }
    case "info":
      return evalInfo(call, await vectorArg(call, 0, scope), scope);
    // Only for samples: computed values have no start time.
    case "start_timestamp": {
      const arg = argAt(call, 0);
      if (scope.run.options.usesStartTimes && arg.kind === "vector" && !arg.smoothed)
        return mapSeries(await evalStartTimes(arg, scope), scope, (value) => value);
      await vectorArg(call, 0, scope);
      return [];
    }
    default: {
      const ofNative = nativeFunctions[name];
      if (ofNative !== undefined)
        return ofEachNative(await vectorArg(call, 0, scope), ofNative, scope);
      throw new Error(`BUG: nobody answers ${name}`);
    }
  }
}

async function bounds(call: Call, scope: EvalScope): Promise<[Float64Array, Float64Array]> {
  const { count } = scope.grid;
  const all = (value: number): Float64Array => new Float64Array(count).fill(value);
  if (call.name === "clamp_min") return [await scalarArg(call, 1, scope), all(Infinity)];
  if (call.name === "clamp_max") return [all(-Infinity), await scalarArg(call, 1, scope)];
  return [await scalarArg(call, 1, scope), await scalarArg(call, 2, scope)];
}

/** The value at each step with exactly one value; NaN otherwise. */
function onlyValue(series: readonly StepSeries[], count: number): Float64Array {
  const values = new Float64Array(count).fill(Number.NaN);
  const seen = new Uint8Array(count);
  for (const one of series) {
    for (let step = 0; step < count; step++) {
      if (one.present[step] !== 1) continue;
      values[step] = seen[step] === 0 ? (one.values[step] ?? Number.NaN) : Number.NaN;
      seen[step] = 1;
    }
  }
  return values;
}

function argAt(call: Call, index: number): Expr {
  const arg = call.args[index];
  if (arg === undefined) throw new Error(`BUG: ${call.name} without argument ${index}`);
  return arg;
}

async function vectorArg(
  call: Call,
  index: number,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  return asVector(await scope.evaluate(argAt(call, index), scope));
}

async function scalarArg(call: Call, index: number, scope: EvalScope): Promise<Float64Array> {
  return asScalar(await scope.evaluate(argAt(call, index), scope));
}

function stringArgs(call: Call, from: number): string[] {
  return call.args.slice(from).flatMap((arg) => (arg.kind === "string" ? [arg.value] : []));
}
