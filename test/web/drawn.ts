/** Records the texts and the dashes that a page draws onto its canvases, which no selector finds. */
import type { Page } from "playwright-core";

export interface DrawnText {
  readonly text: string;
  /** Type size in CSS pixels. */
  readonly sizePx: number;
  /** Title of the chart; empty for a canvas outside the page, such as a picture's. */
  readonly chart: string;
}

/** Starts recording; what was drawn before is not included. Charts of the present draw again every second. */
export async function recordDrawing(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    window.drawn = { texts: [], dashes: [] };
    if (window.drawnBefore) return;
    const own = CanvasRenderingContext2D.prototype;
    const { fillText, setLineDash } = own;
    window.drawnBefore = true;
    const chartOf = (context) => context.canvas.closest(".chart")?.querySelector("h3")?.textContent ?? "";
    own.fillText = function (text, ...rest) {
      const sizePx = Number.parseFloat(/([\\d.]+)px/.exec(this.font)?.[1] ?? "0") * this.getTransform().a / devicePixelRatio;
      window.drawn.texts.push({ text, sizePx: Math.round(sizePx), chart: chartOf(this) });
      return fillText.call(this, text, ...rest);
    };
    own.setLineDash = function (dash) {
      window.drawn.dashes.push({ dash: dash.join(" "), chart: chartOf(this) });
      return setLineDash.call(this, dash);
    };
  })()`);
}

export const drawnTexts = (page: Page): Promise<DrawnText[]> =>
  page.evaluate<DrawnText[]>("window.drawn.texts");

/** The different dash patterns drawn on one chart. */
export const drawnDashes = (page: Page, chart: string): Promise<string[]> =>
  page.evaluate<string[]>(
    `[...new Set(window.drawn.dashes.filter((one) => one.chart === ${JSON.stringify(chart)}).map(({ dash }) => dash))]`,
  );
