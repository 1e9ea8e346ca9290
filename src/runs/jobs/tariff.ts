/**
 * The price, or emission, of a kilowatt-hour by the hour of the day: `0.32`, or `0.32 22-6=0.21 11-15=0.25` for a base with other
 * values in ranges of hours. The last range that covers an hour applies; a range may cross midnight.
 */
import { hourMs, type JobHour } from "./record.ts";

export interface Tariff {
  /** Per kWh in each hour of the local day. */
  readonly perKwh: readonly number[];
  readonly timeZone: string;
}

export const joulesPerKwh = 3_600_000;

const amount = /^\d+(\.\d+)?$/;
const range = /^(\d{1,2})-(\d{1,2})=(\d+(?:\.\d+)?)$/;

/** Undefined for an invalid tariff or time zone. */
export function parseTariff(text: string, timeZone = "UTC"): Tariff | undefined {
  const [base = "", ...ranges] = text.trim().split(/\s+/);
  if (!amount.test(base) || !isTimeZone(timeZone)) return undefined;
  const perKwh = Array.from({ length: 24 }, () => Number(base));
  for (const part of ranges) {
    const [, from, to, value] = range.exec(part) ?? [];
    if (value === undefined || Number(from) > 23 || Number(to) > 24) return undefined;
    const hours = (Number(to) - Number(from) + 24) % 24 || 24;
    for (let at = 0; at < hours; at++) perKwh[(Number(from) + at) % 24] = Number(value);
  }
  return { perKwh, timeZone };
}

function isTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** The price, or emission, of a kilowatt-hour at an instant. */
export function pricePerKwh(tariff: Tariff, timeMs: number): number {
  const hour = Math.floor(timeMs / hourMs);
  return new TariffMeter(tariff).of([hour, 0, 0, 0, joulesPerKwh]);
}

/** Applies a tariff to hours since 1970; converts each hour to local time once. */
export class TariffMeter {
  readonly #tariff: Tariff;
  readonly #format: Intl.DateTimeFormat;
  readonly #known = new Map<number, number>();

  constructor(tariff: Tariff) {
    this.#tariff = tariff;
    this.#format = new Intl.DateTimeFormat("en", {
      timeZone: tariff.timeZone,
      hour: "numeric",
      hourCycle: "h23",
    });
  }

  of([hour, , , , joules]: JobHour): number {
    let perKwh = this.#known.get(hour);
    if (perKwh === undefined) {
      const local = Number(this.#format.format(hour * hourMs));
      this.#known.set(hour, (perKwh = this.#tariff.perKwh[local] ?? 0));
    }
    return (joules / joulesPerKwh) * perKwh;
  }
}
