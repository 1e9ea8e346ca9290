/** A chart as a PNG: title, range, the current plot and its legend, on the page's background. */
import { formatReadable } from "../format/readable.ts";
import { formatInstant } from "../view-state/range.ts";
import { resolveColour } from "./colour.ts";
import type { ChartData, ChartStyle } from "./model.ts";
import { type StatisticsOptions, statisticsOf } from "./statistics.ts";

const [MARGIN, HEAD, ROW] = [16, 44, 18];

export async function pictureOf(
  look: ChartStyle,
  { window, lines }: ChartData,
  plot: HTMLCanvasElement,
  options: StatisticsOptions,
): Promise<Blob> {
  const within = document.body;
  const scale = devicePixelRatio;
  const [width, height] = [plot.width / scale, plot.height / scale];
  const canvas = document.createElement("canvas");
  canvas.width = (width + 2 * MARGIN) * scale;
  canvas.height = (height + HEAD + ROW * lines.length + 2 * MARGIN) * scale;
  const paint = canvas.getContext("2d");
  if (paint === null) throw new Error("This browser has no canvas.");
  paint.scale(scale, scale);
  paint.fillStyle = resolveColour("var(--bg)", within);
  paint.fillRect(0, 0, canvas.width, canvas.height);
  const write = (text: string, x: number, y: number, colour: string, font: string): void => {
    paint.fillStyle = resolveColour(colour, within);
    paint.font = `${font} system-ui, sans-serif`;
    paint.fillText(text, x, y);
  };
  write(look.title, MARGIN, MARGIN + 14, "var(--text)", "600 14px");
  const range = `${formatInstant(window.fromMs)} – ${formatInstant(window.toMs)}`;
  write(range, MARGIN, MARGIN + 32, "var(--muted)", "12px");
  paint.drawImage(plot, MARGIN, MARGIN + HEAD, width, height);
  lines.forEach((line, at) => {
    const { label, colour } = line;
    const y = MARGIN + HEAD + height + ROW * (at + 1) - 4;
    paint.fillStyle = resolveColour(colour, within);
    paint.fillRect(MARGIN, y - 5, 12, 2);
    const found = statisticsOf(line, options);
    const say = (value: number): string => formatReadable(value, look.unit);
    const numbers =
      found === undefined
        ? "no reading"
        : `min ${say(found.min)}   max ${say(found.max)}   avg ${say(found.mean)}`;
    write(`${label}   ${numbers}`, MARGIN + 20, y, "var(--text)", "12px");
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error("The picture could not be created."));
      else resolve(blob);
    }, "image/png");
  });
}
