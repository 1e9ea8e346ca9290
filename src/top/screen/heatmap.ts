/** Many GPUs at once, a cell each: its height and its colour say how much, a cross says lost, a dot says not known. */
import type { WireValue } from "../../view/live/protocol.ts";
import { type Gpu, memoryRatio, powerRatio, read, temperatureRatio } from "../../view/gpu.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { fitRow, span, type TextRole, type TextRow, type TextSpan } from "../text/row.ts";
import { clean, fit } from "../text/width.ts";
import type { HeatMetric, Hit } from "../view/view.ts";
import { severity } from "../../view/gpu-status.ts";

const says: Readonly<Record<HeatMetric, string>> = {
  util: "utilisation",
  memory: "memory in use",
  power: "power of limit",
  temp: "temperature of limit",
};

function ratioOf(gpu: Gpu, metric: HeatMetric): WireValue {
  switch (metric) {
    case "util":
      return read(gpu, "utilization");
    case "memory":
      return memoryRatio(gpu);
    case "power":
      return powerRatio(gpu);
    case "temp":
      return temperatureRatio(gpu);
  }
}

export function heatCell(
  gpu: Gpu,
  metric: HeatMetric,
  glyphs: Glyphs,
  isChosen: boolean,
): TextSpan {
  if (gpu.state === "lost" || gpu.state === "silent") return span(glyphs.lost, "bad", isChosen);
  const ratio = ratioOf(gpu, metric);
  if (typeof ratio !== "number") return span(glyphs.ascii ? "?" : glyphs.absent, "dim", isChosen);
  const step = Math.min(7, Math.max(0, Math.floor(ratio * 8)));
  return span(glyphs.levels[step] ?? " ", `heat${step}` as TextRole, isChosen);
}

export interface HeatOptions {
  readonly metric: HeatMetric;
  readonly chosen: string | undefined;
  readonly width: number;
  readonly height: number;
  readonly firstRow: number;
  readonly glyphs: Glyphs;
}

export interface HeatmapDrawing {
  readonly rows: readonly TextRow[];
  readonly hits: readonly Hit[];
}

/** By host where that fits, else side by side in order; the first line is the key. */
export function drawHeatmap(gpus: readonly Gpu[], options: HeatOptions): HeatmapDrawing {
  const { width, height, glyphs, metric } = options;
  const key: TextRow = fitRow(
    [
      span(` HEATMAP `, "head"),
      span(`${says[metric]}  `),
      span("0 ", "dim"),
      ...glyphs.levels.map((level, at) => span(level, `heat${at}` as TextRole)),
      span(" 100%", "dim"),
      span(`   v metric`, "dim"),
    ],
    width,
  );
  const byHost = group(gpus);
  const drawn =
    byHost.size > 1 ? (hostBlocks(byHost, options) ?? dense(gpus, options)) : dense(gpus, options);
  return { rows: [key, ...drawn.rows].slice(0, height), hits: drawn.hits };
}

function group(gpus: readonly Gpu[]): Map<string, Gpu[]> {
  const groups = new Map<string, Gpu[]>();
  for (const gpu of gpus) {
    const known = groups.get(gpu.device.host);
    if (known === undefined) groups.set(gpu.device.host, [gpu]);
    else known.push(gpu);
  }
  return groups;
}

/** `host ▇▇▅▁…`, several beside each other; undefined where they do not fit. */
function hostBlocks(
  byHost: ReadonlyMap<string, readonly Gpu[]>,
  options: HeatOptions,
): HeatmapDrawing | undefined {
  const { width, height, firstRow, glyphs } = options;
  const most = Math.max(...[...byHost.values()].map(({ length }) => length));
  const longest = Math.max(...[...byHost.keys()].map(({ length }) => length));
  const name = Math.min(18, longest);
  const cell = 2;
  const block = name + 1 + most * cell + 2;
  const perLine = Math.floor((width - 1) / block);
  if (perLine === 0 || Math.ceil(byHost.size / perLine) > height - 1) return undefined;
  const hits: Hit[] = [];
  const rows: TextRow[] = [];
  const hosts = [...byHost];
  for (let at = 0; at < hosts.length; at += perLine) {
    const row = firstRow + 1 + rows.length;
    const spans: TextSpan[] = [span(" ")];
    let column = 1;
    for (const [host, gpus] of hosts.slice(at, at + perLine)) {
      const isIll = gpus.some((gpu) => severity(gpu) >= 2);
      spans.push(span(fit(clean(host), name), isIll ? "warn" : "dim"), span(" "));
      column += name + 1;
      for (const gpu of gpus) {
        const { text, role, inverse } = heatCell(
          gpu,
          options.metric,
          glyphs,
          gpu.id === options.chosen,
        );
        spans.push(span(text.repeat(cell - 1), role, inverse), span(" "));
        hits.push({ kind: "gpu", row, from: column, to: column + cell, gpu: gpu.id });
        column += cell;
      }
      const blank = (most - gpus.length) * cell + 2;
      spans.push(span(" ".repeat(blank)));
      column += blank;
    }
    rows.push(fitRow(spans, width));
  }
  return { rows, hits };
}

function dense(gpus: readonly Gpu[], options: HeatOptions): HeatmapDrawing {
  const { width, height, firstRow, glyphs } = options;
  const lines = Math.max(1, height - 1);
  const roomy = Math.floor((width - 2) / 2);
  const cell = Math.ceil(gpus.length / roomy) <= lines ? 2 : 1;
  const perLine = Math.floor((width - 2) / cell);
  const fits = perLine * lines;
  // The chosen one is always among those that are shown.
  const at = gpus.findIndex(({ id }) => id === options.chosen);
  const from = at < fits ? 0 : Math.floor(at / perLine - lines + 1) * perLine;
  const shown = gpus.slice(from, from + fits);
  const rows: TextRow[] = [];
  const hits: Hit[] = [];
  for (let first = 0; first < shown.length; first += perLine) {
    const row = firstRow + 1 + rows.length;
    const spans: TextSpan[] = [span(" ")];
    shown.slice(first, first + perLine).forEach((gpu, place) => {
      const isChosen = gpu.id === options.chosen;
      const drawnCell = heatCell(gpu, options.metric, glyphs, isChosen);
      // The gap goes with its cell where nobody sees the difference: half as many spans for thousands of GPUs.
      if (cell === 2 && !isChosen) spans.push({ ...drawnCell, text: `${drawnCell.text} ` });
      else spans.push(drawnCell, ...(cell === 2 ? [span(" ")] : []));
      const column = 1 + place * cell;
      hits.push({ kind: "gpu", row, from: column, to: column + cell, gpu: gpu.id });
    });
    rows.push(fitRow(spans, width));
  }
  return { rows, hits };
}

/** How many lines a heatmap of so many needs, its key included. */
export const heatLines = (count: number, width: number): number =>
  1 + Math.ceil(count / Math.max(1, Math.floor((width - 2) / 2)));
