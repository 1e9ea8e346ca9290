/** Small charts as SVG text: lines over a category axis, and bars. Pure; a missing value leaves a gap. */

export interface ChartSeries {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

export interface Chart {
  readonly title: string;
  readonly unit: string;
  readonly labels: readonly string[];
  readonly series: readonly ChartSeries[];
  readonly kind: "line" | "bar";
}

const [width, height] = [480, 190] as const;
const edge = { left: 56, right: 12, top: 12, bottom: 28 } as const;
/** More lines than this cannot be told apart. */
const mostSeries = 8;

export function chartSvg(chart: Chart): string {
  const series = chart.series.slice(0, mostSeries);
  const known = series.flatMap(({ values }) => values.filter((value) => value !== null));
  if (known.length === 0) return "";
  const least = known.reduce((a, b) => Math.min(a, b));
  const most = known.reduce((a, b) => Math.max(a, b));
  const ticks = ticksOf(
    chart.kind === "bar" ? Math.min(0, least) : least,
    most,
    chart.unit === "%" ? 100 : undefined,
  );
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)];
  const count = chart.labels.length;
  const inner = width - edge.left - edge.right;
  const x = (at: number): number => edge.left + (inner * (at + 0.5)) / Math.max(1, count);
  const y = (value: number): number =>
    edge.top + (height - edge.top - edge.bottom) * (1 - (value - low) / (high - low || 1));
  const drawn = series.map((one, place) =>
    chart.kind === "bar"
      ? bars(one, place, series.length, inner / Math.max(1, count), x, y, low)
      : line(one, place, x, y),
  );
  const grid = ticks.map(
    (tick) =>
      `<line class="grid" x1="${edge.left}" x2="${width - edge.right}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>` +
      `<text class="tick" x="${edge.left - 6}" y="${round(y(tick) + 4)}" text-anchor="end">${short(tick)}</text>`,
  );
  const every = Math.max(1, Math.ceil(count / 8));
  const names = chart.labels.flatMap((label, at) =>
    at % every === 0
      ? [
          `<text class="tick" x="${round(x(at))}" y="${height - 8}" text-anchor="middle">${escapeHtml(label)}</text>`,
        ]
      : [],
  );
  const title = escapeHtml(`${chart.title}${chart.unit === "" ? "" : ` (${chart.unit})`}`);
  return (
    `<figure><figcaption>${title}</figcaption>` +
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">${grid.join("")}${names.join("")}${drawn.join("")}</svg>` +
    (series.length > 1
      ? `<p class="legend">${series.map(({ name }, place) => `<span class="c${place}"><i></i>${escapeHtml(name)}</span>`).join("")}</p>`
      : "") +
    "</figure>"
  );
}

function line(
  { name, values }: ChartSeries,
  place: number,
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  const parts: string[] = [];
  let broken = true;
  const dots: string[] = [];
  values.forEach((value, at) => {
    if (value === null) {
      broken = true;
      return;
    }
    parts.push(`${broken ? "M" : "L"}${round(x(at))} ${round(y(value))}`);
    // A point without neighbours needs a dot, since it has no line.
    if (broken && (values[at + 1] ?? null) === null)
      dots.push(`<circle class="dot" cx="${round(x(at))}" cy="${round(y(value))}" r="2.5"/>`);
    broken = false;
  });
  return `<g class="c${place}"><title>${escapeHtml(name)}</title><path d="${parts.join("")}"/>${dots.join("")}</g>`;
}

function bars(
  { name, values }: ChartSeries,
  place: number,
  of: number,
  slot: number,
  x: (at: number) => number,
  y: (value: number) => number,
  low: number,
): string {
  const wide = (slot * 0.8) / of;
  const drawn = values.map((value, at) => {
    if (value === null) return "";
    const [top, base] = [y(Math.max(value, low, 0)), y(Math.max(low, Math.min(value, 0)))];
    const left = x(at) - slot * 0.4 + place * wide;
    return `<rect x="${round(left)}" y="${round(top)}" width="${round(Math.max(0.5, wide - 0.5))}" height="${round(Math.max(0, base - top))}"/>`;
  });
  return `<g class="c${place}"><title>${escapeHtml(name)}</title>${drawn.join("")}</g>`;
}

/** About four round numbers that enclose the range. Values below `bound`, such as 100 %, get an axis that ends at it. */
export function ticksOf(least: number, most: number, bound?: number): readonly number[] {
  const span = most - least || Math.abs(most) || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  // A quotient such as 3.0000000000000004 is 3: it must not add a step.
  const first = Math.floor(least / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(most / step - 1e-9));
  const ticks = Array.from({ length: last - first + 1 }, (_, at) => (first + at) * step);
  if (bound === undefined || most > bound || last * step <= bound * (1 + 1e-9)) return ticks;
  const inside = ticks.filter((tick) => tick < bound);
  return inside.length === 0 ? ticksOf(Math.min(0, least), bound) : [...inside, bound];
}

const round = (value: number): string => String(Math.round(value * 10) / 10);
const short = (value: number): string => String(Number(value.toPrecision(6)));

export const escapeHtml = (text: string): string =>
  text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");

/** The content security policy of reports opened from a disk, without a server to send one: no scripts, no requests. */
export const contentSecurityMeta = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">`;
