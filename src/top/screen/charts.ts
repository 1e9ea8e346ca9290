/** History as curves, each with its number, a value axis and a time axis. */
import type { HistoryKey } from "../../view/live/protocol.ts";
import {
  type Gpu,
  memoryRatio,
  powerLimit,
  read,
  shortModel,
  temperature,
  temperatureLimit,
} from "../../view/gpu.ts";
import { isStale, type Picture } from "../model/picture.ts";
import { curve, plot, pointsIn } from "../text/draw.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { percent, powerOf, temperatureOf, watts } from "../text/quantity.ts";
import { fitRow, rowWidth, span, type TextRole, type TextRow, type TextSpan } from "../text/row.ts";
import { clean, cut, fit, textWidth } from "../text/width.ts";
import { temperatureLevel } from "../../view/gpu-status.ts";

/** A lower curve shows no more than the sparkline in the table. */
const LEAST_HEIGHT = 3;
const LEAST_WIDTH = 36;
/** A narrower curve has no value axis. */
const LEAST_CURVE = 24;
/** Two points per column: about the length of the history. */
const MOST_WIDTH = 150;

interface Scale {
  readonly title: string;
  readonly key: HistoryKey;
  readonly role: TextRole;
  /** The value at the top of the curve; undefined if the device reports no limit. */
  readonly most: number | undefined;
  readonly now: string;
  /** Formats a value of the axis with its unit. */
  readonly label: (value: number) => string;
}

export function scalesOf(gpu: Gpu, glyphs: Glyphs): readonly Scale[] {
  const number = (value: unknown): number | undefined =>
    typeof value === "number" && value > 0 ? value : undefined;
  return [
    {
      title: "utilisation",
      key: "utilization",
      role: "util",
      most: 1,
      now: percent(read(gpu, "utilization")),
      label: percent,
    },
    {
      title: "memory",
      key: "memoryUsedRatio",
      role: "memory",
      most: 1,
      now: percent(memoryRatio(gpu)),
      label: percent,
    },
    {
      title: "power",
      key: "power",
      role: "power",
      most: number(powerLimit(gpu)),
      now: powerOf(read(gpu, "power"), powerLimit(gpu)),
      label: watts,
    },
    {
      title: "temperature",
      key: "temperatureEdge",
      role: temperatureLevel(gpu) ?? "temperature",
      most: number(temperatureLimit(gpu)),
      now: temperatureOf(temperature(gpu), temperatureLimit(gpu), glyphs.celsius),
      label: (value) => temperatureOf(value, "unsupported", glyphs.celsius),
    },
  ];
}

/** One curve with its heading and its axes: `height` lines of `width`. Without a limit the highest point is the top. */
export function chart(
  picture: Picture,
  gpu: Gpu,
  scale: Scale,
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const isOld = isStale(picture);
  return [
    fitRow([span(`${scale.title} `, "head"), span(scale.now, isOld ? "dim" : "text")], width),
    ...drawAxes(picture, gpu, scale, undefined, width, height - 1, glyphs),
  ];
}

/** The curve of a scale between a value axis and a time axis, with the optional curve `over` as a line above it. */
function drawAxes(
  picture: Picture,
  gpu: Gpu,
  { key, role, most, label }: Scale,
  over: Scale | undefined,
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const isOld = isStale(picture);
  const hasTime = height >= LEAST_HEIGHT + 1;
  const tall = hasTime ? height - 1 : height;
  // Enough points for the widest curve; the labels cut it off at the left.
  const points = picture.history(gpu.device, key, pointsIn(width, glyphs));
  const top = most ?? Math.max(1, ...points.map((point) => point ?? 0));
  const labels = valueLabels(top, tall, label);
  const wide = Math.max(...[...labels.values()].map(({ length }) => length));
  const hasValues = width - wide - 1 >= LEAST_CURVE;
  const axisWide = hasValues ? wide + 1 : 0;
  const curveWide = width - axisWide;
  const scaled = points.map((point) => (point === null ? null : point / top));
  const lines =
    over === undefined
      ? curve(scaled, curveWide, tall, glyphs).map((line) => [span(line, isOld ? "dim" : role)])
      : plot(
          scaled,
          isOld ? "dim" : role,
          {
            values: picture.history(gpu.device, over.key, pointsIn(curveWide, glyphs)),
            role: isOld ? "dim" : over.role,
          },
          curveWide,
          tall,
          glyphs,
        );
  const rows = lines.map((line, at): TextRow => {
    if (!hasValues) return fitRow(line, width);
    const text = labels.get(at);
    const axis = fit(text ?? "", wide, "right") + (text === undefined ? glyphs.axis : glyphs.tick);
    return fitRow([span(axis, "dim"), ...line], width);
  });
  if (!hasTime) return rows;
  const time = timeAxis(curveWide, picture.stepSeconds, isOld ? "last" : "now", glyphs);
  const before = hasValues ? " ".repeat(wide) + glyphs.corner : "";
  return [...rows, fitRow([span(before + time, "dim")], width)];
}

/** Labels by line from the top: top and bottom, and as many between as keep two lines apart. */
function valueLabels(
  top: number,
  height: number,
  label: (value: number) => string,
): ReadonlyMap<number, string> {
  const labels = new Map([
    [height - 1, label(0)],
    [0, label(top)],
  ]);
  const parts = height >= 9 ? 4 : height >= 5 ? 2 : 1;
  for (let part = 1; part < parts; part += 1)
    labels.set(Math.round(((height - 1) * part) / parts), label(top * (1 - part / parts)));
  return labels;
}

const timeSteps = [10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 86_400];
const LABEL_EVERY = 14;

/** `─-2m──────-1m──────now`: each label ends at its time. */
function timeAxis(width: number, stepSeconds: number, end: string, glyphs: Glyphs): string {
  const perColumn = pointsIn(1, glyphs) * stepSeconds;
  const every =
    timeSteps.find((seconds) => seconds / perColumn >= LABEL_EVERY) ?? timeSteps.at(-1) ?? 1;
  let text = "";
  for (let at = Math.floor((width * perColumn) / every); at > 0; at -= 1) {
    const name = timeName(at * every);
    const gap = width - Math.round((at * every) / perColumn) - text.length - name.length;
    if (gap >= 0) text += glyphs.line.repeat(gap) + name;
  }
  const last = width - text.length - end.length;
  return last < 0 ? fit(end, width) : text + glyphs.line.repeat(last) + end;
}

const timeName = (seconds: number): string => {
  if (seconds % 3_600 === 0) return `-${seconds / 3_600}h`;
  if (seconds < 60) return `-${seconds}s`;
  return `-${Math.floor(seconds / 60)}m${seconds % 60 === 0 ? "" : `${seconds % 60}s`}`;
};

/** A tile for each of the first GPUs that fit: utilisation filled, memory as a line, as wide and as high as the space allows. */
export function tiles(
  picture: Picture,
  gpus: readonly Gpu[],
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const most = Math.max(1, Math.floor((width - 1) / (LEAST_WIDTH + 2)));
  if (gpus.length === 0 || height < LEAST_HEIGHT + 1) return [];
  const lines = (columns: number): number => Math.ceil(gpus.length / columns);
  let columns = Math.min(most, gpus.length);
  // Uses the fewest columns that still fit, because wide curves show more of the past.
  while (
    columns > 1 &&
    Math.floor(width / (columns - 1)) <= MOST_WIDTH &&
    Math.floor(height / lines(columns - 1)) >= LEAST_HEIGHT + 2
  )
    columns -= 1;
  const across = Math.floor((width - 1) / columns) - 2;
  const rowsOfTiles = Math.min(
    lines(columns),
    Math.max(1, Math.floor(height / (LEAST_HEIGHT + 1))),
  );
  const tall = Math.min(12, Math.floor(height / rowsOfTiles));
  const rows: TextRow[] = [];
  for (let line = 0; line < rowsOfTiles; line += 1) {
    const drawn = gpus
      .slice(line * columns, (line + 1) * columns)
      .map((gpu) => tile(picture, gpu, across, tall, glyphs));
    for (let at = 0; at < tall; at += 1) {
      const spans: TextSpan[] = [span(" ")];
      for (const one of drawn) spans.push(...(one[at] ?? [span(" ".repeat(across))]), span("  "));
      rows.push(fitRow(spans, width));
    }
  }
  return rows;
}

function tile(
  picture: Picture,
  gpu: Gpu,
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const [utilization, memory] = scalesOf(gpu, glyphs);
  if (utilization === undefined) return [];
  const { device } = gpu;
  const isOld = isStale(picture);
  const name = clean(`${device.index} ${shortModel(device)}`);
  const right: TextRow = [
    span("util ", "dim"),
    span(utilization.now, isOld ? "dim" : utilization.role),
    span("  mem ", "dim"),
    span(memory?.now ?? "", isOld ? "dim" : "memory"),
    span(` ${fit(watts(read(gpu, "power")), 6, "right")}`, isOld ? "dim" : "text"),
  ];
  const left = cut(name, width - rowWidth(right) - 2);
  const fill = Math.max(1, width - textWidth(left) - rowWidth(right) - 2);
  return [
    fitRow([span(left, "strong"), span(` ${glyphs.line.repeat(fill)} `, "dim"), ...right], width),
    ...drawAxes(picture, gpu, utilization, memory, width, height - 1, glyphs),
  ];
}
