/** Formats the numbers of a comparison for display. Missing values are handled by the caller. */
import type { CompareUnit } from "./metrics.ts";

const steps: Readonly<Partial<Record<CompareUnit, readonly (readonly [number, string])[]>>> = {
  watts: [[1, "W"]],
  joules: [
    [1e6, "MJ"],
    [1e3, "kJ"],
    [1, "J"],
  ],
  hertz: [
    [1e6, "MHz"],
    [1, "Hz"],
  ],
  bytes: [
    [1024 ** 3, "GiB"],
    [1024 ** 2, "MiB"],
    [1, "B"],
  ],
  seconds: [[1, "s"]],
  celsius: [[1, "°C"]],
  ratio: [[0.01, "%"]],
};

export interface UnitScale {
  readonly divisor: number;
  readonly unit: string;
}

/** The scale for displaying a value; `work` is the unit of the counted work. */
export function sizeOf(value: number, unit: CompareUnit, work = "units"): UnitScale {
  if (unit === "work_per_second") return { divisor: 1, unit: `${work}/s` };
  if (unit === "work_per_second_watt") return { divisor: 1, unit: `${work}/s/W` };
  if (unit === "work_per_joule") return { divisor: 1, unit: `${work}/J` };
  const all = steps[unit] ?? [[1, ""]];
  const found = all.find(([from]) => Math.abs(value) >= from) ?? all.at(-1) ?? [1, ""];
  return { divisor: found[0], unit: found[1] };
}

/** Four significant digits, without trailing zeros. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const digits = size >= 1_000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  if (size > 0 && size < 0.001) return signs(value.toPrecision(3));
  return signs(
    grouped(
      value
        .toFixed(digits)
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, ""),
    ),
  );
}

export function formatMeasurement(value: number, unit: CompareUnit, work?: string): string {
  const size = sizeOf(value, unit, work);
  return `${formatNumber(value / size.divisor)}${size.unit === "" ? "" : `\u00a0${size.unit}`}`;
}

const mostDecimals = 6;

/** Enough decimals for two digits of the uncertainty; one if every number up to `largest` rounds to zero anyway. */
export const decimalsFor = (uncertainty: number, largest: number): number =>
  uncertainty > 0 && Number.isFinite(uncertainty) && Math.abs(largest) >= 0.5 * 10 ** -mostDecimals
    ? Math.min(mostDecimals, Math.max(0, 1 - Math.floor(Math.log10(uncertainty))))
    : 1;

export const formatDecimals = (value: number, decimals: number): string =>
  signs(grouped(value.toFixed(decimals)).replace(/^-(0(?:\.0*)?)$/, "$1"));

const signs = (text: string): string => text.replace("-", "−");
const grouped = (text: string): string =>
  text.replace(/^(-?\d{5,})/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, "\u202f"));

/** A duration for display: `90 s`, `11 min`, `3 h`. */
export function formatLength(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)}\u00a0s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)}\u00a0min`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3_600)}\u00a0h`
    : `${Math.round(seconds / 86_400)}\u00a0days`;
}
