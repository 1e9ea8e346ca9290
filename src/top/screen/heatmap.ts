/** Many GPUs at once, one cell each: height and colour show the value, a cross a lost GPU, a dot an unknown value. */
import type { WireValue } from "../../view/live/protocol.ts";
import {
  type Gpu,
  memoryRatio,
  numberOf,
  powerRatio,
  read,
  shortModel,
  temperatureRatio,
} from "../../view/gpu.ts";
import { bar } from "../text/draw.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { percent } from "../text/quantity.ts";
import { fitRow, span, type TextRole, type TextRow, type TextSpan } from "../text/row.ts";
import { clean, fit, textWidth } from "../text/width.ts";
import type { HeatMetric, Hit } from "../view/view.ts";
import { severity } from "../../view/gpu-status.ts";

const titles: Readonly<Record<HeatMetric, string>> = {
  util: "utilisation",
  memory: "memory used",
  power: "power, share of limit",
  temp: "temperature, share of limit",
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

function heatCell(gpu: Gpu, metric: HeatMetric, glyphs: Glyphs, isChosen: boolean): TextSpan {
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
  /** Draws each GPU with its name and its number if they fit. */
  readonly hasNames?: boolean;
}

export interface HeatmapDrawing {
  readonly rows: readonly TextRow[];
  readonly hits: readonly Hit[];
}

/** With names if there is room, by host if that fits, otherwise in order side by side. The first line is the legend. */
export function drawHeatmap(gpus: readonly Gpu[], options: HeatOptions): HeatmapDrawing {
  const { width, height, glyphs, metric } = options;
  const key: TextRow = fitRow(
    [
      span(` HEATMAP `, "head"),
      span(`${titles[metric]}  `),
      span("0 ", "dim"),
      ...glyphs.levels.map((level, at) => span(level, `heat${at}` as TextRole)),
      span(" 100%", "dim"),
      span(`   v metric`, "dim"),
    ],
    width,
  );
  const byHost = group(gpus);
  const drawn =
    (options.hasNames === true ? named(gpus, byHost.size > 1, options) : undefined) ??
    (byHost.size > 1 ? hostBlocks(byHost, options) : undefined) ??
    dense(gpus, options);
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

/** The narrowest cells with and without the model: a name, a comparable bar, and a number. */
const LEAST_NAMED = 20;
const LEAST_SHORT = 13;
const NUMBER_WIDE = 10;
/** A title, a bar of at least one line, and a blank line. */
const LEAST_TALL = 3;
const MOST_TALL = 8;

/** A cell with name, number and bar per GPU, as large as fits for all of them; undefined if they do not fit. */
function named(
  gpus: readonly Gpu[],
  hasHosts: boolean,
  options: HeatOptions,
): HeatmapDrawing | undefined {
  const { width, height, firstRow, glyphs } = options;
  if (gpus.length === 0) return undefined;
  const lines = height - 1;
  const short = gpus.map(({ device }) =>
    clean(`${hasHosts ? `${device.host} ` : ""}${device.index}`),
  );
  const long = gpus.map(({ device }, at) => `${short[at] ?? ""} ${clean(shortModel(device))}`);
  const room = (names: readonly string[], least: number): number =>
    Math.max(least, NUMBER_WIDE + Math.max(0, ...names.map(textWidth)));
  const choices = [
    { names: long, least: room(long, LEAST_NAMED), tall: LEAST_TALL },
    { names: short, least: room(short, LEAST_SHORT), tall: LEAST_TALL },
    { names: long, least: room(long, LEAST_NAMED), tall: 1 },
    { names: short, least: room(short, LEAST_SHORT), tall: 1 },
  ];
  const choice = choices.find(({ least, tall }) => {
    const columns = Math.floor((width - 1) / least);
    return columns > 0 && Math.ceil(gpus.length / columns) * tall <= lines;
  });
  if (choice === undefined) return undefined;
  const { used, tall } =
    choice.tall === 1
      ? { used: Math.min(gpus.length, Math.floor((width - 1) / choice.least)), tall: 1 }
      : largestCells(gpus.length, Math.floor((width - 1) / choice.least), lines);
  const across = Math.floor((width - 1) / used);
  const hits: Hit[] = [];
  const rows: TextRow[] = [];
  for (let first = 0; first < gpus.length; first += used) {
    const cells = gpus.slice(first, first + used).map((gpu, at) => {
      const from = 1 + at * across;
      for (let line = 0; line < tall; line += 1)
        hits.push({
          kind: "gpu",
          row: firstRow + 1 + rows.length + line,
          from,
          to: from + across,
          gpu: gpu.id,
        });
      return namedCell(gpu, choice.names[first + at] ?? "", across - 1, tall, options, glyphs);
    });
    for (let line = 0; line < tall; line += 1) {
      const spans: TextSpan[] = [span(" ")];
      for (const cell of cells) spans.push(...(cell[line] ?? []), span(" "));
      rows.push(fitRow(spans, width));
    }
  }
  return { rows, hits };
}

/** Returns the number of cells per row whose rows fill the most lines; among equals, the largest number. */
function largestCells(
  count: number,
  most: number,
  lines: number,
): { readonly used: number; readonly tall: number } {
  let best = { used: 1, tall: 0 };
  let bestLines = -1;
  for (let used = 1; used <= Math.min(count, most); used += 1) {
    const rows = Math.ceil(count / used);
    const tall = Math.min(MOST_TALL, Math.floor(lines / rows));
    if (tall < LEAST_TALL || rows * tall < bestLines) continue;
    best = { used, tall };
    bestLines = rows * tall;
  }
  return best;
}

/** Name and number above a bar of `height - 2` lines; in one line the bar is between them. */
function namedCell(
  gpu: Gpu,
  name: string,
  width: number,
  height: number,
  { metric, chosen }: HeatOptions,
  glyphs: Glyphs,
): readonly TextRow[] {
  const isChosen = gpu.id === chosen;
  const isLost = gpu.state === "lost" || gpu.state === "silent";
  const ratio = isLost ? undefined : numberOf(ratioOf(gpu, metric));
  const step = Math.min(7, Math.max(0, Math.floor((ratio ?? 0) * 8)));
  const role = `heat${step}` as TextRole;
  const number = isLost ? gpu.state : percent(ratio ?? "unsupported");
  const numberRole = isLost ? "bad" : ratio === undefined ? "dim" : "text";
  const nameRole = severity(gpu) >= 2 ? "warn" : "strong";
  const mark = isLost ? span(fit(glyphs.lost, width), "bad") : undefined;
  if (height === 1) {
    const last = fit(gpu.state === "silent" ? glyphs.lost : number, 4, "right");
    const nameWide = Math.min(textWidth(name), width - 9);
    const barWide = width - nameWide - 6;
    return [
      fitRow(
        [
          span(fit(name, nameWide), nameRole, isChosen),
          span(" "),
          ...(mark === undefined ? bar(ratio, barWide, role, glyphs) : [span(" ".repeat(barWide))]),
          span(` ${last}`, numberRole),
        ],
        width,
      ),
    ];
  }
  const title = [
    span(fit(name, width - number.length - 1), nameRole, isChosen),
    span(` ${number}`, numberRole),
  ];
  const body: TextRow = mark === undefined ? bar(ratio, width, role, glyphs) : [mark];
  return [
    fitRow(title, width),
    ...Array.from({ length: height - 2 }, () => fitRow(body, width)),
    fitRow([], width),
  ];
}

/** `host ▇▇▅▁…`, several side by side; undefined if they do not fit. */
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
  // The selected GPU is always visible.
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
      // The gap is part of its cell if the cell is not selected: half as many spans for thousands of GPUs.
      if (cell === 2 && !isChosen) spans.push({ ...drawnCell, text: `${drawnCell.text} ` });
      else spans.push(drawnCell, ...(cell === 2 ? [span(" ")] : []));
      const column = 1 + place * cell;
      hits.push({ kind: "gpu", row, from: column, to: column + cell, gpu: gpu.id });
    });
    rows.push(fitRow(spans, width));
  }
  return { rows, hits };
}

/** Lines of a heatmap of `count` GPUs, including its legend. */
export const heatLines = (count: number, width: number): number =>
  1 + Math.ceil(count / Math.max(1, Math.floor((width - 2) / 2)));
