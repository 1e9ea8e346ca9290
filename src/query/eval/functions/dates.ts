/** Parts of a date, in UTC, from values that are seconds since the epoch; without an argument, of the evaluation time. */
import { noLabels } from "../../../model/labels.ts";
import { timeAt } from "../grid.ts";
import type { EvalScope } from "../scope.ts";
import type { StepSeries } from "../value.ts";
import { calendarOf, type CalendarTime } from "./calendar.ts";
import { mapSeries } from "./math.ts";

export const dateFunctions: Readonly<Record<string, (time: CalendarTime) => number>> = {
  minute: (time) => time.minute,
  hour: (time) => time.hour,
  day_of_week: (time) => time.weekday,
  day_of_month: (time) => time.day,
  day_of_year: (time) => time.yearDay,
  days_in_month: (time) => time.daysInMonth,
  month: (time) => time.month,
  year: (time) => time.year,
};

export async function mapDates(
  series: readonly StepSeries[] | undefined,
  scope: EvalScope,
  part: (time: CalendarTime) => number,
): Promise<readonly StepSeries[]> {
  if (series !== undefined) return mapSeries(series, scope, (value) => part(calendarOf(value)));
  const values = new Float64Array(scope.grid.count).map((_, step) =>
    part(calendarOf(timeAt(scope.grid, step) / 1000)),
  );
  const present = new Uint8Array(values.length).fill(1);
  return [{ labels: noLabels, dropName: false, values, present }];
}
