/** Draws limits and the names of limits and lines, so that readers need not match colours. */
import type uPlot from "uplot";
import { readableColour } from "./contrast.ts";
import { axisFontPx, scaled } from "./edges.ts";
import {
  extentOf,
  type LabelledLine,
  type LabelSlot,
  type LineExtent,
  placeLabels,
} from "./line-labels.ts";
import type { ChartLimit, ChartLine } from "./model.ts";

/** A single line needs no name, and more names than this cover the plot. */
const MOST_LABELS = 8;
const LEAST_WIDTH_PX = 220;
const HALO_PX = 3;

type Resolve = (css: string) => string;

export class LabelPainter {
  readonly #limits: readonly ChartLimit[];
  readonly #resolve: Resolve;
  readonly #resolved = new Map<string, string>();
  #slots: ReadonlyMap<string, LabelSlot> = new Map();

  /** `resolve` returns the computed colour; it is called once for each. */
  constructor(limits: readonly ChartLimit[], resolve: Resolve) {
    this.#limits = limits;
    this.#resolve = resolve;
  }

  draw(plot: uPlot, lines: readonly ChartLine[]): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    this.#drawLimits(plot);
    ctx.translate(bbox.left, bbox.top);
    ctx.scale(ratio, ratio);
    this.#drawNames(plot, lines);
    ctx.restore();
  }

  #drawLimits(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.lineWidth = ratio;
    for (const { value, level } of this.#limits) {
      const y = Math.round(plot.valToPos(value, "y", true)) + 0.5;
      if (y < bbox.top - 1 || y > bbox.top + bbox.height + 1) continue;
      ctx.strokeStyle = this.#colour(
        level === "bad" || level === "warn" ? `var(--${level})` : "var(--edge)",
      );
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  }

  /** The origin is the upper left corner of the plot, the unit a CSS pixel. */
  #drawNames(plot: uPlot, lines: readonly ChartLine[]): void {
    const { ctx } = plot;
    const { widthPx, heightPx } = sizeOf(plot);
    if (widthPx < LEAST_WIDTH_PX) return;
    const fontPx = axisFontPx();
    ctx.font = `${fontPx}px system-ui, sans-serif`;
    const shown = lines.flatMap((line, at) =>
      plot.series[at + 1]?.show === true ? [{ line, at, extent: this.#extent(plot, at) }] : [],
    );
    const limits = this.#limits.flatMap(({ label, value }) => {
      const y = plot.valToPos(value, "y");
      if (y < 0 || y > heightPx) return [];
      const extent = extentOf(
        [
          [0, y],
          [widthPx, y],
        ],
        widthPx,
      );
      return [{ key: `limit ${label}`, text: label, colour: "var(--muted)", extent }];
    });
    const isNamed = shown.length > 1 && shown.length <= MOST_LABELS;
    const named = isNamed
      ? shown.map(({ line: { key, label, colour }, extent }) => ({
          key,
          text: label,
          colour,
          extent,
        }))
      : [];
    const colours = new Map([...limits, ...named].map(({ key, colour }) => [key, colour]));
    const wanted = [...limits, ...named].map((one): LabelledLine => ({
      ...one,
      textPx: Math.ceil(ctx.measureText(one.text).width),
    }));
    const placed = placeLabels(
      wanted,
      [...limits, ...shown].map(({ extent }) => extent),
      { widthPx, heightPx, rowPx: Math.round(fontPx * 1.2) },
      this.#slots,
    );
    this.#slots = new Map(placed.map(({ key, slot }) => [key, slot]));
    const [background, text] = [this.#colour("var(--bg)"), this.#colour("var(--text)")];
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    ctx.lineJoin = "round";
    for (const { key, text: name, left, top, leader } of placed) {
      const colour = readableColour(this.#colour(colours.get(key) ?? ""), background, text);
      if (leader !== undefined) {
        ctx.strokeStyle = colour;
        ctx.lineWidth = 1;
        ctx.beginPath();
        ctx.moveTo(leader.x + 0.5, leader.fromY);
        ctx.lineTo(leader.x + 0.5, leader.toY);
        ctx.stroke();
      }
      // Grid lines would run through the letters.
      ctx.strokeStyle = background;
      ctx.lineWidth = HALO_PX;
      ctx.strokeText(name, left, top + scaled(1));
      ctx.fillStyle = colour;
      ctx.fillText(name, left, top + scaled(1));
    }
  }

  #extent(plot: uPlot, at: number): LineExtent {
    const [times, values] = [plot.data[0], plot.data[at + 1] ?? []];
    const points = Array.from(values, (value, index): readonly [number, number | undefined] => [
      plot.valToPos(times[index] ?? 0, "x"),
      typeof value === "number" ? plot.valToPos(value, "y") : undefined,
    ]);
    return extentOf(points, sizeOf(plot).widthPx);
  }

  #colour(css: string): string {
    const known = this.#resolved.get(css);
    if (known !== undefined) return known;
    const resolved = this.#resolve(css);
    this.#resolved.set(css, resolved);
    return resolved;
  }
}

/** From the canvas, because measuring an element would need a layout. */
const sizeOf = ({ bbox }: uPlot): { readonly widthPx: number; readonly heightPx: number } => ({
  widthPx: bbox.width / devicePixelRatio,
  heightPx: bbox.height / devicePixelRatio,
});
