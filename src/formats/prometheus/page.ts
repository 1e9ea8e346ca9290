/**
 * Writes frames as a Prometheus page: text format 0.0.4, or OpenMetrics 1.0. What is absent is left out.
 *
 *   text 0.0.4             OpenMetrics 1.0
 *   # HELP name …          # TYPE family …     (a counter's family has no _total, an info's no _info)
 *   # TYPE name …          # UNIT family unit
 *   name{a="b"} 1          # HELP family …
 *                          # EOF               (last line)
 */
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { seriesKey } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { formatValue } from "./number.ts";

export type PageFormat = "text" | "openmetrics";

export const contentTypes: Record<PageFormat, string> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

interface Line {
  /** Everything of the line before the value. */
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

/** Keeps the text that does not change between pages; layouts rarely do, so a page is mostly joining numbers in. */
export class PageWriter {
  readonly #format: PageFormat;
  #plan: Plan = { layouts: [], families: [] };

  constructor(format: PageFormat) {
    this.#format = format;
  }

  /** With timestamps each sample carries its frame's time: for files and pipes, never for a page that is scraped. */
  write(frames: readonly Frame[], { timestamps = false } = {}): string {
    const same =
      this.#plan.layouts.length === frames.length &&
      frames.every((frame, index) => frame.layout === this.#plan.layouts[index]);
    if (!same) this.#plan = planPage(frames, this.#format);
    let page = "";
    for (const family of this.#plan.families) {
      let body = "";
      for (const { head, frameIndex, slot } of family.lines) {
        const frame = frames[frameIndex];
        if (frame === undefined || frame.presence[slot] !== presence.present) continue;
        const time = timestamps
          ? ` ${this.#format === "text" ? frame.timeMs : frame.timeMs / 1_000}`
          : "";
        body += `${head}${formatValue(frame.values[slot] ?? Number.NaN)}${time}\n`;
      }
      if (body !== "") page += family.header + body;
    }
    return this.#format === "openmetrics" ? `${page}# EOF\n` : page;
  }
}

/** Families must be contiguous and a series may stand once: where two sources tell the same series, the first keeps it. */
function planPage(frames: readonly Frame[], format: PageFormat): Plan {
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  frames.forEach((frame, frameIndex) => {
    frame.layout.series.forEach((series, slot) => {
      const key = seriesKey(series);
      if (seen.has(key)) return;
      seen.add(key);
      const { metric } = series;
      let family = families.get(metric.name);
      if (family === undefined) {
        family = { header: header(metric, format), lines: [] };
        families.set(metric.name, family);
      }
      family.lines.push({ head: `${sampleName(series)} `, frameIndex, slot });
    });
  });
  return { layouts: frames.map((frame) => frame.layout), families: [...families.values()] };
}

function header(metric: MetricEntry, format: PageFormat): string {
  if (format === "text") {
    const type = metric.kind === "info" ? "gauge" : metric.kind;
    return `# HELP ${metric.name} ${escapeHelp(metric.help)}\n# TYPE ${metric.name} ${type}\n`;
  }
  const family = openMetricsFamily(metric);
  const unit =
    metric.unit !== "none" && family.endsWith(`_${metric.unit}`)
      ? `# UNIT ${family} ${metric.unit}\n`
      : "";
  // OpenMetrics wants a counter's samples to end in _total; other exporters' names need not.
  const type =
    metric.kind === "counter" && !metric.name.endsWith("_total") ? "unknown" : metric.kind;
  return `# TYPE ${family} ${type}\n${unit}# HELP ${family} ${escapeText(metric.help)}\n`;
}

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
