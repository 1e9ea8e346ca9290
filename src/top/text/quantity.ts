/** Numbers as short text, always with their unit. An absent value is n/a. */
import type { WireValue } from "../../view/live/protocol.ts";
import { formatAge } from "../../view/age.ts";

export const NOT_AVAILABLE = "n/a";

const formatIfKnown = (value: WireValue, write: (value: number) => string): string =>
  typeof value === "number" ? write(value) : NOT_AVAILABLE;

export const percent = (value: WireValue): string =>
  formatIfKnown(value, (ratio) => `${Math.round(ratio * 100)}%`);

export const watts = (value: WireValue): string =>
  formatIfKnown(value, (power) => `${Math.round(power)}W`);

export const megahertz = (value: WireValue): string =>
  formatIfKnown(value, (hertz) => `${Math.round(hertz / 1e6)}MHz`);

const inGib = (bytes: number): string => {
  const gib = bytes / 2 ** 30;
  return gib < 99.95 ? gib.toFixed(1) : String(Math.round(gib));
};

export const gibibytes = (value: WireValue): string =>
  formatIfKnown(value, (bytes) => `${inGib(bytes)}GiB`);

/** `57/141GiB`: one unit for both. */
function formatPair(
  part: WireValue,
  whole: WireValue,
  unit: string,
  write: (value: number) => string,
): string {
  if (typeof part !== "number") return NOT_AVAILABLE;
  return typeof whole === "number"
    ? `${write(part)}/${write(whole)}${unit}`
    : `${write(part)}${unit}`;
}

export const memoryOf = (used: WireValue, whole: WireValue): string =>
  formatPair(used, whole, "GiB", inGib);

const round = (value: number): string => {
  const whole = Math.round(value);
  return String(whole === 0 ? 0 : whole);
};

export const powerOf = (power: WireValue, limit: WireValue): string =>
  formatPair(power, limit, "W", round);

export const temperatureOf = (now: WireValue, limit: WireValue, unit: string): string =>
  formatPair(now, limit, unit, round);

const rateUnits = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"] as const;

/** `1.2GB/s`: at most eight characters, in decimal units like the specifications of PCIe and NVLink. */
export const bytesPerSecond = (value: WireValue): string =>
  formatIfKnown(value, (bytes) => {
    const at = Math.min(
      rateUnits.length - 1,
      Math.max(0, Math.floor(Math.log10(Math.max(1, bytes * 1.0005)) / 3)),
    );
    const scaled = bytes / 1_000 ** at;
    return `${at === 0 || scaled >= 99.95 ? Math.round(scaled) : scaled.toFixed(1)}${rateUnits[at] ?? ""}`;
  });

/** Joules as watt hours: `12.3Wh`, `1.23kWh`. */
export const wattHours = (value: WireValue): string =>
  formatIfKnown(value, (joules) => {
    const hours = joules / 3_600;
    const [scaled, unit] =
      hours < 999.5 ? [hours, "Wh"] : hours < 999_500 ? [hours / 1e3, "kWh"] : [hours / 1e6, "MWh"];
    const digits = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
    return `${scaled.toFixed(digits)}${unit}`;
  });

/** A sum: from 10,000 W on in kilowatts. */
export function total(value: number, unit: "W" | "GiB"): string {
  if (unit === "W")
    return value < 10_000 ? `${Math.round(value)} W` : `${(value / 1_000).toFixed(1)} kW`;
  const gib = value / 2 ** 30;
  return gib < 10_000 ? `${Math.round(gib)} GiB` : `${(gib / 1_024).toFixed(1)} TiB`;
}

/** Like `formatAge`, but with a plain space that terminal users can search for. */
export const age = (ms: number): string => formatAge(ms, " ");
