/** Parts of a date, in UTC, from values that are seconds since the epoch; without an argument, of the evaluation time. */
import { noLabels } from "../../../model/labels.ts";
import { timeAt } from "../grid.ts";
import type { Scope } from "../scope.ts";
import type { StepSeries } from "../value.ts";
import { mapSeries } from "./math.ts";

const dayMs = 86_400_000;

export const dateFunctions: Readonly<Record<string, (date: Date) => number>> = {
  minute: (date) => date.getUTCMinutes(),
  hour: (date) => date.getUTCHours(),
  day_of_week: (date) => date.getUTCDay(),
  day_of_month: (date) => date.getUTCDate(),
  day_of_year: (date) =>
    Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs) + 1,
  days_in_month: (date) =>
    new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate(),
  month: (date) => date.getUTCMonth() + 1,
  year: (date) => date.getUTCFullYear(),
};

export function mapDates(
  series: readonly StepSeries[] | undefined,
  scope: Scope,
  part: (date: Date) => number,
): readonly StepSeries[] {
  if (series !== undefined)
    return mapSeries(series, scope, (value) => part(new Date(Math.trunc(value) * 1000)));
  const values = new Float64Array(scope.grid.count).map((_, step) =>
    part(new Date(Math.trunc(timeAt(scope.grid, step) / 1000) * 1000)),
  );
  return [
    { labels: noLabels, dropName: false, values, present: new Uint8Array(values.length).fill(1) },
  ];
}
