/** History as curves of several lines, each with its number and its scale. */
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
import { curve, pointsIn } from "../text/draw.ts";
import type { Glyphs } from "../text/glyphs.ts";
import { percent, powerOf, temperatureOf, watts } from "../text/quantity.ts";
import { fitRow, span, type TextRole, type TextRow, type TextSpan } from "../text/row.ts";
import { clean, cut, fit } from "../text/width.ts";
import { temperatureLevel } from "../../view/gpu-status.ts";

/** Lower than this a curve shows no more than the sparkline in the table. */
const LEAST_HEIGHT = 3;
const LEAST_WIDTH = 36;
/** Two points a column: about as much of the past as is kept. */
const MOST_WIDTH = 150;

interface Scale {
  readonly title: string;
  readonly key: HistoryKey;
  readonly role: TextRole;
  /** What the top of the curve stands for; undefined where there is no limit to measure against. */
  readonly most: number | undefined;
  readonly now: string;
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
    },
    {
      title: "memory",
      key: "memoryUsedRatio",
      role: "memory",
      most: 1,
      now: percent(memoryRatio(gpu)),
    },
    {
      title: "power",
      key: "power",
      role: "power",
      most: number(powerLimit(gpu)),
      now: powerOf(read(gpu, "power"), powerLimit(gpu)),
    },
    {
      title: "temperature",
      key: "temperatureEdge",
      role: temperatureLevel(gpu) ?? "temperature",
      most: number(temperatureLimit(gpu)),
      now: temperatureOf(temperature(gpu), temperatureLimit(gpu), glyphs.celsius),
    },
  ];
}

/** One curve with its heading: `height` lines of `width`. Without a limit its own highest point is the top, and it says so. */
export function chart(
  picture: Picture,
  gpu: Gpu,
  { title, key, role, most, now }: Scale,
  width: number,
  height: number,
  glyphs: Glyphs,
): TextRow[] {
  const points = picture.history(gpu.device, key, pointsIn(width, glyphs));
  const top = most ?? Math.max(1, ...points.map((point) => point ?? 0));
  const scaled = points.map((point) => (point === null ? null : point / top));
  const note = most === undefined ? ` (top is ${Math.round(top)})` : "";
  const isOld = isStale(picture);
  return [
    fitRow(
      [span(`${title} `, "head"), span(now, isOld ? "dim" : "text"), span(note, "dim")],
      width,
    ),
    ...curve(scaled, width, height - 1, glyphs).map((line) =>
      fitRow([span(line, isOld ? "dim" : role)], width),
    ),
  ];
}

/** A tile for each of the first GPUs that fit: utilisation, as wide and as high as there is room. */
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
  // As few beside each other as still fit below each other: wide curves show more of the past.
  while (
    columns > 1 &&
    Math.floor(width / (columns - 1)) <= MOST_WIDTH &&
    Math.floor(height / lines(columns - 1)) >= LEAST_HEIGHT + 2
  )
    columns -= 1;
  const across = Math.floor((width - 1) / columns) - 1;
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
      for (const one of drawn) spans.push(...(one[at] ?? [span(" ".repeat(across))]), span(" "));
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
  const [utilization] = scalesOf(gpu, glyphs);
  if (utilization === undefined) return [];
  const { device } = gpu;
  const name = clean(`${device.index} ${shortModel(device)}`);
  const right = `${percent(read(gpu, "utilization"))} ${fit(watts(read(gpu, "power")), 5, "right")}`;
  const left = cut(name, width - right.length - 2);
  const fill = Math.max(1, width - left.length - right.length - 2);
  const [, ...lines] = chart(picture, gpu, utilization, width, height, glyphs);
  return [
    fitRow(
      [span(left, "strong"), span(` ${glyphs.line.repeat(fill)} `, "dim"), span(right)],
      width,
    ),
    ...lines,
  ];
}
