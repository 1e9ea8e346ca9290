/** The time range: the last minutes, hours or days, or between two instants. Pure; the clock is an argument. */

export type Range =
  | { readonly kind: "last"; readonly ms: number }
  | { readonly kind: "between"; readonly fromMs: number; readonly toMs: number };

export interface TimeWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000] as const;
const LEAST_MS = 10 * SECOND;
const MOST_MS = 366 * DAY;

const firstRange: Range = { kind: "last", ms: HOUR };

export const presets: readonly {
  readonly ms: number;
  readonly text: string;
  readonly says: string;
}[] = [
  { ms: 5 * MINUTE, text: "5m", says: "Last 5 minutes" },
  { ms: 15 * MINUTE, text: "15m", says: "Last 15 minutes" },
  { ms: 30 * MINUTE, text: "30m", says: "Last 30 minutes" },
  { ms: HOUR, text: "1h", says: "Last hour" },
  { ms: 3 * HOUR, text: "3h", says: "Last 3 hours" },
  { ms: 6 * HOUR, text: "6h", says: "Last 6 hours" },
  { ms: 12 * HOUR, text: "12h", says: "Last 12 hours" },
  { ms: DAY, text: "24h", says: "Last 24 hours" },
  { ms: 2 * DAY, text: "2d", says: "Last 2 days" },
  { ms: 7 * DAY, text: "7d", says: "Last 7 days" },
  { ms: 14 * DAY, text: "14d", says: "Last 14 days" },
  { ms: 30 * DAY, text: "30d", says: "Last 30 days" },
];

const units: Readonly<Record<string, number>> = {
  s: SECOND,
  m: MINUTE,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
};

/** `90s`, `5m`, `1h30m`, `7d`; undefined if invalid, too short or too long. */
export function readDuration(text: string): number | undefined {
  if (!/^(?:\d+[smhdw])+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, count = "", unit = ""] of text.matchAll(/(\d+)([smhdw])/g))
    ms += Number(count) * (units[unit] ?? 0);
  return ms >= LEAST_MS && ms <= MOST_MS ? ms : undefined;
}

export function writeDuration(ms: number): string {
  const preset = presets.find((one) => one.ms === ms);
  if (preset !== undefined) return preset.text;
  let [rest, text] = [Math.round(ms / SECOND) * SECOND, ""];
  for (const unit of ["d", "h", "m", "s"] as const) {
    const size = units[unit] ?? 1;
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === "" ? "0s" : text;
}

/** An ISO time, or milliseconds since the epoch as in Grafana's links. */
export function readInstant(text: string | null): number | undefined {
  if (text === null || text === "") return undefined;
  const ms = /^\d{12,14}$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** Whole seconds without their zeros, so that a link is readable. */
export const writeInstant = (ms: number): string =>
  new Date(ms).toISOString().replace(".000Z", "Z");

export interface RangeTexts {
  readonly range: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

export function readRange(get: (name: "range" | "from" | "to") => string | null): Range {
  const [fromMs, toMs] = [readInstant(get("from")), readInstant(get("to"))];
  if (fromMs !== undefined && toMs !== undefined && toMs > fromMs)
    return { kind: "between", fromMs, toMs };
  const ms = readDuration(get("range") ?? "");
  return ms === undefined ? firstRange : { kind: "last", ms };
}

export function writeRange(range: Range): RangeTexts {
  if (range.kind === "between")
    return { range: undefined, from: writeInstant(range.fromMs), to: writeInstant(range.toMs) };
  const first = firstRange.kind === "last" && range.ms === firstRange.ms;
  return { range: first ? undefined : writeDuration(range.ms), from: undefined, to: undefined };
}

export function windowOf(range: Range, nowMs: number): TimeWindow {
  return range.kind === "between"
    ? { fromMs: range.fromMs, toMs: range.toMs }
    : { fromMs: nowMs - range.ms, toMs: nowMs };
}

/** The range selected by dragging in a chart, long enough to draw. */
export function rangeBetween(
  oneMs: number,
  otherMs: number,
): Extract<Range, { readonly kind: "between" }> {
  const [fromMs, toMs] = [Math.min(oneMs, otherMs), Math.max(oneMs, otherMs)].map(Math.round) as [
    number,
    number,
  ];
  const short = Math.max(0, LEAST_MS - (toMs - fromMs));
  return {
    kind: "between",
    fromMs: fromMs - Math.ceil(short / 2),
    toMs: toMs + Math.ceil(short / 2),
  };
}

/** Twice the length around the same middle; a range that reaches the present becomes relative again. */
export function zoomOutRange(range: Range, nowMs: number): Range {
  if (range.kind === "last") return { kind: "last", ms: Math.min(MOST_MS, range.ms * 2) };
  const half = (range.toMs - range.fromMs) / 2;
  const toMs = range.toMs + half;
  if (toMs >= nowMs) return { kind: "last", ms: nearestPreset(Math.min(MOST_MS, half * 4)) };
  return { kind: "between", fromMs: range.fromMs - half, toMs };
}

/** Shifts by half a window back (-1) or forward (1). */
export function shiftRange(range: Range, direction: 1 | -1, nowMs: number): Range {
  const { fromMs, toMs } = windowOf(range, nowMs);
  const by = (direction * (toMs - fromMs)) / 2;
  return toMs + by > nowMs && direction === 1
    ? range
    : { kind: "between", fromMs: Math.round(fromMs + by), toMs: Math.round(toMs + by) };
}

const nearestPreset = (ms: number): number =>
  presets.find((preset) => preset.ms >= ms)?.ms ?? presets.at(-1)?.ms ?? ms;

/** `Last hour`, or both ends in local time. */
export function formatRange(range: Range): string {
  if (range.kind === "last")
    return presets.find(({ ms }) => ms === range.ms)?.says ?? `Last ${writeDuration(range.ms)}`;
  const [from, to] = [formatInstant(range.fromMs), formatInstant(range.toMs)];
  const sameDay = from.slice(0, 10) === to.slice(0, 10);
  return `${from} – ${sameDay ? to.slice(11) : to}`;
}

/** `2026-07-31 14:05:09` in local time. */
export function formatInstant(ms: number): string {
  const at = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
