/** Names at the right end of the lines, so that readers need not match colours. */
import type uPlot from "uplot";
import type { ChartLine } from "./model.ts";

/** A single line needs no name, and more names than this cover the lines. */
const MOST_LABELS = 8;
const LEAST_WIDTH_PX = 220;
const ROW_PX = 13;
const FONT_PX = 11;

export interface LabelPlace {
  readonly text: string;
  readonly colour: string;
  /** End of the line, in pixels from the upper edge. */
  readonly y: number;
}

/** Moves names apart so that none covers another, and keeps all within the plot. Pure. */
export function spreadLabels<Place extends LabelPlace>(
  places: readonly Place[],
  heightPx: number,
  rowPx = ROW_PX,
): Place[] {
  const sorted = [...places].sort((one, other) => one.y - other.y);
  const spread: Place[] = [];
  let lowest = rowPx;
  for (const place of sorted) {
    const y = Math.max(place.y, lowest);
    spread.push({ ...place, y });
    lowest = y + rowPx;
  }
  let highest = heightPx;
  for (let at = spread.length - 1; at >= 0; at -= 1) {
    const place = spread[at];
    if (place === undefined || place.y <= highest) break;
    spread[at] = { ...place, y: highest };
    highest -= rowPx;
  }
  return spread;
}

export function drawLineLabels(
  plot: uPlot,
  lines: readonly ChartLine[],
  resolve: (css: string) => string,
): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const shown = lines.flatMap((line, at) =>
    plot.series[at + 1]?.show === true ? [{ line, at }] : [],
  );
  if (shown.length < 2 || shown.length > MOST_LABELS || bbox.width < LEAST_WIDTH_PX * ratio) return;
  const places = shown.flatMap(({ line, at }): LabelPlace[] => {
    const last = [...(plot.data[at + 1] ?? [])].findLast((value) => typeof value === "number");
    if (typeof last !== "number") return [];
    const y = (plot.valToPos(last, "y", true) - bbox.top) / ratio - 2;
    return y < 0 || y > bbox.height / ratio ? [] : [{ text: line.label, colour: line.colour, y }];
  });
  ctx.save();
  ctx.font = `${FONT_PX * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  ctx.textBaseline = "bottom";
  const background = resolve("var(--bg)");
  for (const { text, colour, y } of spreadLabels(places, bbox.height / ratio)) {
    const [right, bottom] = [bbox.left + bbox.width - 4 * ratio, bbox.top + y * ratio];
    // A dashed line between the letters would read as struck out.
    const width = ctx.measureText(text).width + 4 * ratio;
    ctx.fillStyle = background;
    ctx.fillRect(right - width + 2 * ratio, bottom - FONT_PX * ratio, width, FONT_PX * ratio);
    ctx.fillStyle = resolve(colour);
    ctx.fillText(text, right, bottom);
  }
  ctx.restore();
}
