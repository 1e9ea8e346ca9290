/** The proleptic Gregorian calendar for all int64 seconds, which exceed JavaScript's Date. */
import { noLabels } from "../../../model/labels.ts";
import { timeAt } from "../grid.ts";
import type { EvalScope } from "../scope.ts";
import type { StepSeries } from "../value.ts";
import { mapSeries } from "./math.ts";

export interface CalendarTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly yearDay: number;
  readonly daysInMonth: number;
}

const daySeconds = 86_400n;
/** Go's result on amd64 for values that overflow an int64, including NaN and the infinities. */
const overflow = 2n ** 63n;

function calendarOf(seconds: number): CalendarTime {
  const whole = Math.abs(seconds) < 2 ** 63 ? BigInt(Math.trunc(seconds)) : overflow;
  const days = floorDiv(whole, daySeconds);
  const ofDay = Number(whole - days * daySeconds);
  // Counts days from 0000-03-01 in eras of 400 years, so that the leap day is the last day of its year.
  const shifted = days + 719_468n;
  const era = floorDiv(shifted, 146_097n);
  const dayOfEra = Number(shifted - era * 146_097n);
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const marchDay =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * marchDay + 2) / 153);
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = Number(era) * 400 + yearOfEra + (month <= 2 ? 1 : 0);
  const day = marchDay - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const leap = isLeap(year);
  return {
    year,
    month,
    day,
    hour: Math.floor(ofDay / 3600),
    minute: Math.floor((ofDay % 3600) / 60),
    weekday: Number((((days + 4n) % 7n) + 7n) % 7n),
    yearDay: (daysBefore[month - 1] ?? 0) + day + (leap && month > 2 ? 1 : 0),
    daysInMonth: month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31,
  };
}

const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334] as const;

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function floorDiv(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

/** Date functions, in UTC, of values in seconds since the epoch; without an argument, of the evaluation time. */
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
