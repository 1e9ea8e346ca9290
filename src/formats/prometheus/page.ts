/**
 * Writes frames as a Prometheus page: text format 0.0.4, or OpenMetrics 1.0. Absent readings are left out.
 *
 *   text 0.0.4             OpenMetrics 1.0
 *   # HELP name …          # TYPE family …     (a counter's family has no _total, an info's no _info)
 *   # TYPE name …          # UNIT family unit
 *   name{a="b"} 1          # HELP family …
 *                          # EOF               (last line)
 */
import { openMetricsFloat } from "../exposition/open-metrics-float.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";

/** Formats numbers as Prometheus does: the shortest digits, an exponent of at least two digits, and a signed zero. */
export function formatValue(value: number): string {
  if (Number.isFinite(value)) {
    if (value === 0) return Object.is(value, -0) ? "-0" : "0";
    if (value > -1e-6 && value < 1e-6) return String(value).replace(/e-(\d)$/, "e-0$1");
    return String(value);
  }
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

export type PageFormat = "text" | "openmetrics";

export const contentTypes: Record<PageFormat, string> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

interface PageOptions {
  readonly timestamps?: boolean;
}

interface Line {
  /** The part of the line before the value. */
  readonly head: string;
  readonly frameIndex: number;
  readonly slot: number;
}

interface Family {
  readonly header: string;
  readonly lines: Line[];
}

interface Plan {
  readonly layouts: readonly Layout[];
  readonly families: readonly Family[];
}

/** This many lines take a few milliseconds. */
const linesPerPart = 5_000;

/** Caches the text that does not change between pages; layouts rarely change, so writing a page is mostly inserting numbers. */
export class PageWriter {
  readonly #format: PageFormat;
  #plan: Plan = { layouts: [], families: [] };

  constructor(format: PageFormat) {
    this.#format = format;
  }

  /** With timestamps each sample has its frame's time: for files and pipes, never for a scraped page. */
  write(frames: readonly Frame[], options: PageOptions = {}): string {
    let page = "";
    for (const part of this.parts(frames, options)) page += part;
    return page;
  }

  /** The same page in parts, so that the caller can yield in between. A part may be empty, since planning takes time too. */
  *parts(frames: readonly Frame[], { timestamps = false }: PageOptions = {}): Generator<string> {
    const plan = this.#fits(frames) ? this.#plan : yield* planPage(frames, this.#format);
    this.#plan = plan;
    let part = "";
    let lines = 0;
    for (const family of plan.families) {
      let isNew = true;
      for (const { head, frameIndex, slot } of family.lines) {
        const frame = frames[frameIndex];
        if (frame === undefined || frame.presence[slot] !== presence.present) continue;
        const time = timestamps
          ? ` ${this.#format === "text" ? frame.timeMs : frame.timeMs / 1_000}`
          : "";
        if (isNew) part += family.header;
        isNew = false;
        part += `${head}${formatValue(frame.values[slot] ?? Number.NaN)}${time}\n`;
        if (++lines % linesPerPart !== 0) continue;
        yield part;
        part = "";
      }
    }
    yield this.#format === "openmetrics" ? `${part}# EOF\n` : part;
  }

  #fits(frames: readonly Frame[]): boolean {
    const { layouts } = this.#plan;
    return (
      layouts.length === frames.length &&
      frames.every((frame, index) => frame.layout === layouts[index])
    );
  }
}

/** Families must be contiguous and series unique: if two sources report the same series, the first one wins. */
function* planPage(frames: readonly Frame[], format: PageFormat): Generator<"", Plan> {
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let lines = 0;
  for (const [frameIndex, { layout }] of frames.entries()) {
    const heads = headsOf(layout);
    for (const [slot, { metric, suffix }] of layout.series.entries()) {
      const own = heads[slot] ?? "";
      const head = suffix === "_bucket" && format === "openmetrics" ? withFloatBound(own) : own;
      if (seen.has(head)) continue;
      seen.add(head);
      let family = families.get(metric.name);
      if (family === undefined) {
        family = { header: header(metric, format), lines: [] };
        families.set(metric.name, family);
      }
      family.lines.push({ head, frameIndex, slot });
    }
    lines += heads.length;
    if (lines < linesPerPart) continue;
    lines = 0;
    yield "";
  }
  return { layouts: frames.map((frame) => frame.layout), families: [...families.values()] };
}

/** OpenMetrics writes the bound 1 as `1.0`. No label's value holds an unescaped quote. */
const withFloatBound = (head: string): string =>
  head.replace(
    /([{,]le=")([\d.e+-]+)"/,
    (_, before: string, bound: string) => `${before}${openMetricsFloat(Number(bound))}"`,
  );

/** Cached per layout, since one host's layout changes at a time. */
const headsByLayout = new WeakMap<Layout, readonly string[]>();

function headsOf(layout: Layout): readonly string[] {
  let heads = headsByLayout.get(layout);
  if (heads === undefined) {
    heads = layout.series.map((series) => `${sampleName(series)} `);
    headsByLayout.set(layout, heads);
  }
  return heads;
}

function header(metric: MetricEntry, format: PageFormat): string {
  if (format === "text") {
    const type = metric.kind === "info" ? "gauge" : metric.kind;
    return `# HELP ${metric.name} ${escapeHelp(metric.help)}\n# TYPE ${metric.name} ${type}\n`;
  }
  const family = openMetricsFamily(metric);
  const named = unitOf(metric, family);
  const unit = named === undefined ? "" : `# UNIT ${family} ${named}\n`;
  // OpenMetrics requires counter samples to end in _total; other exporters' names may not.
  const type =
    metric.kind === "counter" && !metric.name.endsWith("_total") ? "unknown" : metric.kind;
  return `# TYPE ${family} ${type}\n${unit}# HELP ${family} ${escapeText(metric.help)}\n`;
}

/** The unit suffix of a family's name; a page must not declare another unit. */
export const unitOf = ({ unit }: MetricEntry, family: string): string | undefined =>
  unit !== "none" && family.endsWith(`_${unit}`) ? unit : undefined;

function openMetricsFamily(metric: MetricEntry): string {
  const suffix = metric.kind === "counter" ? "_total" : metric.kind === "info" ? "_info" : "";
  return metric.name.endsWith(suffix)
    ? metric.name.slice(0, metric.name.length - suffix.length)
    : metric.name;
}

function sampleName({ metric, suffix, labels }: Series): string {
  const inside = labels.map(([name, value]) => `${name}="${escapeText(value)}"`).join(",");
  return `${metric.name}${suffix}${inside === "" ? "" : `{${inside}}`}`;
}

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapeText = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');
