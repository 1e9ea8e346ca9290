/** Numbers as text of few characters, always with their unit. What is not there is n/a. */
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

/** `57/141GiB`: the unit once, for both. */
export function formatPair(
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

/** Of many together: thousands of watts are kilowatts. */
export function total(value: number, unit: "W" | "GiB"): string {
  if (unit === "W")
    return value < 10_000 ? `${Math.round(value)} W` : `${(value / 1_000).toFixed(1)} kW`;
  const gib = value / 2 ** 30;
  return gib < 10_000 ? `${Math.round(gib)} GiB` : `${(gib / 1_024).toFixed(1)} TiB`;
}

/** As `formatAge`, with a space that the terminal's user can search for. */
export const age = (ms: number): string => formatAge(ms, " ");
