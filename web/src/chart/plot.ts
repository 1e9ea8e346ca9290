/** uPlot, configured for all charts: thin lines, visible gaps, dashed limits, drag to zoom. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { lengthOf, timesOf } from "../query/columns.ts";
import {
  fitTexts,
  incrementsFor,
  logRange,
  logTexts,
  timeSpacePx,
  timeTexts,
  valueRange,
  valueTexts,
} from "./axes.ts";
import { resolveColour } from "./colour.ts";
import { dashOf } from "./dash.ts";
import { LabelPainter } from "./draw-labels.ts";
import { axisFontPx, axisPx, RIGHT_PX, scaled } from "./edges.ts";
import { watchTouch } from "./touch.ts";
import type { ChartData, ChartLimit, ChartLine, ChartStyle } from "./model.ts";

const LEAST_DRAG_PX = 5;
const NARROW_PX = 480;

export interface PlotEvents {
  /** Grid index under the pointer; undefined when the pointer leaves. */
  point(at: number | undefined): void;
  zoom(fromMs: number, toMs: number): void;
}

export interface PlotSetup {
  readonly host: HTMLElement;
  readonly look: ChartStyle;
  readonly limits: readonly ChartLimit[];
  readonly widthPx: number;
  readonly heightPx: number;
  readonly events: PlotEvents;
}

export class Plot {
  readonly #plot: uPlot;
  readonly #isLog: boolean;
  #data: ChartData;

  constructor(setup: PlotSetup, data: ChartData, hidden: ReadonlySet<string>) {
    this.#data = data;
    this.#isLog = setup.look.isLog === true;
    const values = columns(data, this.#isLog);
    this.#plot = new uPlot(this.#options(setup, data, hidden), values, setup.host);
  }

  /** Updates the values of the same lines; other lines need a new plot. */
  update(data: ChartData): void {
    if (data === this.#data) return;
    this.#data = data;
    this.#plot.setData(columns(data, this.#isLog), false);
    this.#plot.setScale("x", { min: data.window.fromMs, max: data.window.toMs });
  }

  show(hidden: ReadonlySet<string>): void {
    this.#data.lines.forEach(({ key }, at) => {
      const wanted = !hidden.has(key);
      if (this.#plot.series[at + 1]?.show !== wanted)
        this.#plot.setSeries(at + 1, { show: wanted });
    });
  }

  resize(width: number, height: number): void {
    const { width: widthPx, height: heightPx } = this.#plot;
    if (width !== widthPx || height !== heightPx) this.#plot.setSize({ width, height });
  }

  /** Moves the cursor to the instant that another chart points at. */
  pointAt(ms: number | undefined): void {
    const { fromMs, toMs } = this.#data.window;
    const inside = ms !== undefined && ms >= fromMs && ms <= toMs;
    this.#plot.setCursor({ left: inside ? this.#plot.valToPos(ms, "x") : -10, top: -10 });
  }

  leftOf(ms: number): number {
    return this.#plot.valToPos(ms, "x");
  }

  /** Pixels from the upper edge of the plot; a value outside the axis is at the edge. */
  topOf(value: number): number {
    const { over } = this.#plot;
    return Math.min(over.clientHeight, Math.max(0, this.#plot.valToPos(value, "y")));
  }

  /** The value at this distance in pixels from the upper edge of the plot. */
  valueAt(topPx: number): number {
    return this.#plot.posToVal(topPx, "y");
  }

  /** Lower and upper end of the value axis. */
  get valueEdges(): { readonly min: number; readonly max: number } {
    const { min = 0, max = 1 } = this.#plot.scales["y"] ?? {};
    return { min, max };
  }

  get canvas(): HTMLCanvasElement {
    return this.#plot.ctx.canvas;
  }

  destroy(): void {
    this.#plot.destroy();
  }

  #options(setup: PlotSetup, data: ChartData, hidden: ReadonlySet<string>): uPlot.Options {
    const { host, look, limits, widthPx, heightPx, events } = setup;
    const colour = (css: string): string => resolveColour(css, host);
    const [muted, grid] = [colour("var(--muted)"), colour("var(--line)")];
    const fontPx = axisFontPx();
    const labels = new LabelPainter(limits, colour);
    const axis = {
      stroke: muted,
      font: `${fontPx}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`,
      ticks: { show: false },
      grid: { stroke: grid, width: 1 },
    };
    const incrs = incrementsFor(look.unit);
    return {
      width: widthPx,
      height: heightPx,
      ms: 1,
      padding: [scaled(8), RIGHT_PX, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG_PX },
        points: { size: 6, width: 1 },
        bind: { dblclick: () => () => null },
      },
      scales: {
        x: { time: true, min: data.window.fromMs, max: data.window.toMs, auto: false },
        y: this.#isLog
          ? {
              distr: 3,
              range: (_plot, min, max) => logRange(min, max),
            }
          : {
              range: (_plot, min, max) =>
                valueRange(
                  [min, max],
                  look,
                  limits.map(({ value }) => value),
                ),
            },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: scaled(24),
          space: (_plot, _axis, min, max, plotPx) =>
            timeSpacePx(max - min, { plotPx, fontPx, isNarrow: widthPx < NARROW_PX }),
          values: (plot, ticks, _at, _space, every) => {
            const { min = 0, max = 1 } = plot.scales["x"] ?? {};
            const shares = ticks.map((tick) => (tick - min) / (max - min));
            const plotPx = plot.width - axisPx() - RIGHT_PX;
            return fitTexts(timeTexts(ticks, every), shares, { plotPx, rightPx: RIGHT_PX, fontPx });
          },
        },
        {
          ...axis,
          size: axisPx,
          space: scaled(32),
          // The first event mark stands between the values and the plot.
          gap: 8,
          // uPlot marks omitted ticks of a logarithmic axis with null.
          values: (_plot, ticks: readonly (number | null)[]) =>
            this.#isLog
              ? logTexts(ticks, look.unit)
              : valueTexts(
                  ticks.filter((tick) => tick !== null),
                  look.unit,
                ),
          ...(incrs === undefined || this.#isLog ? {} : { incrs }),
        },
      ],
      series: [
        {},
        ...data.lines.map((line, at) =>
          lineOptions(line, dashOf(data.lines, at), colour, !hidden.has(line.key)),
        ),
      ],
      hooks: {
        draw: [(plot) => labels.draw(plot, this.#data.lines)],
        // uPlot's own hook also fires for new data and for the cursors of other charts.
        ready: [(plot) => watchPointer(plot, events), (plot) => watchTouch(plot, events)],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            const [fromMs, toMs] = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
            if (width >= LEAST_DRAG_PX) events.zoom(fromMs, toMs);
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    };
  }
}

function watchPointer(plot: uPlot, events: PlotEvents): void {
  const { over } = plot;
  over.addEventListener("mousemove", (event) => {
    events.point(plot.posToIdx(event.clientX - over.getBoundingClientRect().left));
  });
  over.addEventListener("mouseleave", () => events.point(undefined));
}

const lineOptions = (
  line: ChartLine,
  dash: readonly number[],
  colour: (css: string) => string,
  show: boolean,
): uPlot.Series => ({
  label: line.label,
  show,
  stroke: colour(line.colour),
  width: line.dashed === true ? 1 : 1.25,
  ...(dash.length === 0 ? {} : { dash: [...dash] }),
  spanGaps: false,
  points: { show: true, size: 4, filter: lonePoints },
});

/** A reading with gaps on both sides has no line, so it gets a dot. */
const lonePoints: uPlot.Series.Points.Filter = (plot, seriesAt) => {
  const values = plot.data[seriesAt] ?? [];
  const alone: number[] = [];
  for (let at = 0; at < values.length; at += 1) {
    if (values[at] === null) continue;
    if ((values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null) alone.push(at);
  }
  return alone;
};

/** uPlot expects null for a gap; it would draw NaN. */
function columns({ grid, lines }: ChartData, isLog: boolean): uPlot.AlignedData {
  const length = lengthOf(grid);
  const nullable = ({ values }: ChartLine): (number | null)[] =>
    Array.from({ length }, (_, at) => {
      const value = values[at] ?? Number.NaN;
      return Number.isFinite(value) && (!isLog || value > 0) ? value : null;
    });
  return [Array.from(timesOf(grid)), ...lines.map(nullable)];
}
