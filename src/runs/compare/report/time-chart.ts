/** Runs over their own time as SVG text: a colour per subject, a line per run, gaps left open. Pure. */
import { escapeHtml, ticksOf } from "../../../lake/analyses/report/chart.ts";
import type { Curve } from "../curves.ts";
import type { CompareUnit } from "../metrics.ts";
import { formatNumber, sizeOf } from "../quantity.ts";

const [width, height] = [560, 200] as const;
const edge = { left: 54, right: 10, top: 10, bottom: 26 } as const;

export function timeChart(title: string, unit: CompareUnit, curve: Curve): string {
  const runs = curve.of.flatMap((own, subject) => own.map((points) => ({ subject, points })));
  const known = runs.flatMap(({ points }) => points.values.filter((one) => one !== null));
  if (known.length === 0) return "";
  const [least, most] = [
    known.reduce((a, b) => Math.min(a, b)),
    known.reduce((a, b) => Math.max(a, b)),
  ];
  const size = sizeOf(most, unit);
  const bound = unit === "ratio" ? 1 / size.divisor : undefined;
  const ticks = ticksOf(least / size.divisor, most / size.divisor, bound);
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const seconds = Math.max(
    ...runs.map(({ points }) => points.stepSeconds * points.values.length),
    1e-3,
  );
  const x = (at: number): number => edge.left + ((width - edge.left - edge.right) * at) / seconds;
  const y = (value: number): number =>
    edge.top +
    (height - edge.top - edge.bottom) * (1 - (value / size.divisor - low) / (high - low || 1));
  const grid = ticks.map(
    (tick) =>
      `<line class="grid" x1="${edge.left}" x2="${width - edge.right}" y1="${round(y(tick * size.divisor))}" y2="${round(y(tick * size.divisor))}"/>` +
      `<text class="tick" x="${edge.left - 6}" y="${round(y(tick * size.divisor) + 4)}" text-anchor="end">${formatNumber(tick)}</text>`,
  );
  const times = ticksOf(0, seconds)
    .filter((at) => at <= seconds)
    .map(
      (at) =>
        `<text class="tick" x="${round(x(at))}" y="${height - 8}" text-anchor="${at === 0 ? "start" : at > 0.95 * seconds ? "end" : "middle"}">${formatNumber(at)}\u00a0s</text>`,
    );
  const lines = runs.map(
    ({ subject, points }) =>
      `<path class="c${subject % 8}" d="${pathOf(points.values, (at) => x((at + 0.5) * points.stepSeconds), y)}"/>`,
  );
  const caption = escapeHtml(`${title} (${size.unit})`);
  return `<figure><figcaption>${caption}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${caption}">${grid.join("")}${times.join("")}${lines.join("")}</svg></figure>`;
}

/** Gaps are left open. */
export function pathOf(
  values: readonly (number | null)[],
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  let broken = true;
  return values
    .map((value, at) => {
      if (value === null) {
        broken = true;
        return "";
      }
      // A reading without neighbours is drawn as a dot: a line of zero length with round ends.
      const alone = broken && (values[at + 1] ?? null) === null ? "h0" : "";
      const drawn = `${broken ? "M" : "L"}${round(x(at))} ${round(y(value))}${alone}`;
      broken = false;
      return drawn;
    })
    .join("");
}

const round = (value: number): string => String(Math.round(value * 10) / 10);

/** Confidence intervals of differences as bars: an interval that does not touch the middle line is a real difference. */
export function intervalBar(low: number, high: number, middle: number, most: number): string {
  const at = (value: number): number => 60 + (54 * value) / (most || 1);
  return `<svg class="bar" viewBox="0 0 120 16" aria-hidden="true"><line class="grid" x1="60" x2="60" y1="0" y2="16"/><line x1="${round(at(low))}" x2="${round(at(high))}" y1="8" y2="8"/><circle cx="${round(at(middle))}" cy="8" r="3"/></svg>`;
}
