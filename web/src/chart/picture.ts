/** A chart as a PNG: title with its GPU, range, the current plot and its legend, on the page's background. */
import { formatReadable } from "../format/readable.ts";
import { formatInstant } from "../view-state/range.ts";
import { resolveColour } from "./colour.ts";
import { dashOf } from "./dash.ts";
import type { ChartData, ChartStyle } from "./model.ts";
import { type StatisticsOptions, statisticsOf } from "./statistics.ts";

const [MARGIN, HEAD, ROW, SWATCH] = [16, 44, 18, 24];

/** The texts around the plot. */
export interface PictureText {
  readonly title: string;
  readonly subtitle: string;
  readonly rows: readonly {
    readonly label: string;
    readonly numbers: string;
    readonly colour: string;
    readonly dash: readonly number[];
  }[];
}

/** `look.title` includes the GPU. */
export function pictureText(
  { title, unit }: Pick<ChartStyle, "title" | "unit">,
  { window, lines }: ChartData,
  options: StatisticsOptions,
): PictureText {
  const say = (value: number): string => formatReadable(value, unit);
  return {
    title,
    subtitle: `${formatInstant(window.fromMs)} – ${formatInstant(window.toMs)}`,
    rows: lines.map((line, at) => {
      const found = statisticsOf(line, options);
      return {
        label: line.label,
        numbers:
          found === undefined
            ? "no reading"
            : `min ${say(found.min)}   max ${say(found.max)}   avg ${say(found.mean)}`,
        colour: line.colour,
        dash: dashOf(lines, at),
      };
    }),
  };
}

/** `size` is that of the plot in CSS pixels. */
export async function pictureOf(
  { title, subtitle, rows }: PictureText,
  plot: HTMLCanvasElement,
  { width, height }: { readonly width: number; readonly height: number },
): Promise<Blob> {
  const within = document.body;
  const scale = plot.width / width;
  const canvas = document.createElement("canvas");
  canvas.width = (width + 2 * MARGIN) * scale;
  canvas.height = (height + HEAD + ROW * rows.length + 2 * MARGIN) * scale;
  const paint = canvas.getContext("2d");
  if (paint === null) throw new Error("This browser has no canvas.");
  paint.scale(scale, scale);
  paint.fillStyle = resolveColour("var(--bg)", within);
  paint.fillRect(0, 0, canvas.width, canvas.height);
  const write = (text: string, x: number, y: number, colour: string, font: string): void => {
    paint.fillStyle = resolveColour(colour, within);
    paint.font = `${font} system-ui, sans-serif`;
    // A long text becomes narrower instead of being cut off.
    paint.fillText(text, x, y, width + MARGIN - x);
  };
  write(title, MARGIN, MARGIN + 14, "var(--text)", "600 14px");
  write(subtitle, MARGIN, MARGIN + 32, "var(--muted)", "12px");
  paint.drawImage(plot, MARGIN, MARGIN + HEAD, width, height);
  paint.lineWidth = 2;
  rows.forEach(({ label, numbers, colour, dash }, at) => {
    const y = MARGIN + HEAD + height + ROW * (at + 1) - 4;
    paint.strokeStyle = resolveColour(colour, within);
    paint.setLineDash([...dash]);
    paint.beginPath();
    paint.moveTo(MARGIN, y - 4);
    paint.lineTo(MARGIN + SWATCH, y - 4);
    paint.stroke();
    write(`${label}   ${numbers}`, MARGIN + SWATCH + 8, y, "var(--text)", "12px");
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error("The picture could not be created."));
      else resolve(blob);
    }, "image/png");
  });
}
