/** A heatmap of histograms over time, native or classic: a column per instant, a row per bucket, darker for more observations. */
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { stepMsFor } from "../../../src/view/step.ts";
import { formatReadable } from "../format/readable.ts";
import { continueRange, queryHistograms } from "../query/client.ts";
import { gridOf, type TimeGrid } from "../query/columns.ts";
import { useFetch } from "../query/use-fetch.ts";
import { useWidth } from "../ui/use-size.ts";
import { formatInstant } from "../view-state/range.ts";
import { dark } from "../view-state/preferences.ts";
import { timeWindow } from "../view-state/time.ts";
import { resolveColour } from "./colour.ts";
import { axisPx, RIGHT_PX } from "./edges.ts";
import { bucketRows, type HeatRows, heatRows } from "./heat-rows.ts";
import { ChartMenu } from "./chart-menu.tsx";
import type { ColourFamily } from "./model.ts";
import { TimeFrame } from "./time-frame.tsx";

const HEIGHT_PX = 176;
const COLUMN_PX = 6;
const LABEL_PX = 18;
/** Makes a single observation visible beside thousands. */
const FAINTEST = 0.12;

export interface HeatmapFigureProps {
  readonly title: string;
  readonly query: string;
  readonly unit: Unit;
  readonly family: ColourFamily;
  /** Height of the plot. */
  readonly heightPx?: number;
}

export function HeatmapFigure({
  title,
  query,
  unit,
  family,
  heightPx = HEIGHT_PX,
}: HeatmapFigureProps) {
  const host = useRef<HTMLElement>(null);
  const id = useId();
  const widthPx = Math.max(0, useWidth(host) - axisPx() - RIGHT_PX);
  const window = timeWindow.value;
  const stepMs = stepMsFor(window.toMs - window.fromMs, widthPx / COLUMN_PX, 1_000);
  const grid = gridOf(window.fromMs, window.toMs, stepMs);
  const { value, error } = useHeat(query, grid, widthPx > 0);
  const drawn = value?.heat;
  // Metrics without a family get a hue, because shades of grey are hard to distinguish.
  const hue = family === "count" ? "utilization" : family;
  return (
    <figure class="chart heat" data-family={hue} ref={host} aria-labelledby={id}>
      <figcaption>
        <h3 id={id}>{title}</h3>
        <span class="spacer" />
        <ChartMenu
          look={{ title, unit, family }}
          queries={[{ query, label: title }]}
          grid={grid}
          kind="heatmap"
          window={window}
        />
      </figcaption>
      {error !== undefined && error.status !== 0 && (
        <p class="bad" role="alert">
          {error.message}
        </p>
      )}
      {drawn !== undefined && drawn.bounds.length === 0 && (
        <p class="unit">The query returns no histogram in this range.</p>
      )}
      {drawn !== undefined && drawn.bounds.length > 0 && (
        <TimeFrame window={window}>
          <HeatCanvas
            heat={drawn}
            grid={value?.grid ?? grid}
            unit={unit}
            widthPx={widthPx}
            heightPx={heightPx}
            title={title}
          />
        </TimeFrame>
      )}
    </figure>
  );
}

interface Heat {
  readonly heat: HeatRows;
  readonly grid: TimeGrid;
}

/** Keeps the newest result while the next one loads. */
function useHeat(
  query: string,
  grid: TimeGrid,
  isReady: boolean,
): { value: Heat | undefined; error: ReturnType<typeof useFetch>["error"] } {
  const last = useRef<{ query: string; value: Heat } | undefined>(undefined);
  const key = isReady ? `${query} ${grid.startMs} ${grid.endMs} ${grid.stepMs}` : "";
  const { value, error } = useFetch<Heat | undefined>(key, async (signal) => {
    if (!isReady) return undefined;
    const [points = []] = await queryHistograms(`sum(${query})`, grid, signal);
    if (points.length > 0) return { heat: heatRows(points, grid), grid };
    const { series } = await continueRange(query, grid, undefined, signal);
    return { heat: bucketRows(series), grid };
  });
  if (value !== undefined) last.current = { query, value };
  const before = last.current?.query === query ? last.current.value : undefined;
  return { value: value ?? before, error };
}

interface HeatCanvasProps extends Heat {
  readonly unit: Unit;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly title: string;
}

function HeatCanvas({ heat, grid, unit, widthPx, heightPx, title }: HeatCanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<string | undefined>(undefined);
  const { bounds } = heat;
  const rows = bounds.length - 1;
  useLayoutEffect(() => {
    if (canvas.current !== null) paint(canvas.current, heat, widthPx, heightPx);
  }, [heat, widthPx, heightPx, dark()]);
  const labels = useMemo(() => labelled(bounds, heightPx), [bounds, heightPx]);
  const say = (bound: number): string =>
    Number.isFinite(bound) ? formatReadable(bound, unit) : bound > 0 ? "∞" : "−∞";
  const read = (event: PointerEvent): void => {
    const { left, top, width } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * heat.columns.length);
    const row = rows - 1 - Math.floor(((event.clientY - top) / heightPx) * rows);
    const [lower, upper] = [bounds[row], bounds[row + 1]];
    const count = heat.columns[at]?.[row];
    if (lower === undefined || upper === undefined || count === undefined)
      return setPointed(undefined);
    const time = formatInstant(grid.startMs + at * grid.stepMs).slice(11);
    return setPointed(`${time}: ${say(lower)} to ${say(upper)}: ${formatReadable(count, "none")}`);
  };
  return (
    <>
      <div class="heat-area" style={{ height: `${heightPx}px` }}>
        {labels.map((at) => (
          <span key={at} class="heat-bound" style={{ bottom: `${(at / rows) * 100}%` }}>
            {say(bounds[at] ?? 0)}
          </span>
        ))}
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${title}: heatmap of ${rows} buckets from ${say(bounds[0] ?? 0)} to ${say(bounds.at(-1) ?? 0)}`}
          onPointerMove={read}
          onPointerLeave={() => setPointed(undefined)}
        />
      </div>
      <p class="unit heat-says" role="status">
        {pointed}
      </p>
    </>
  );
}

/** Selects the bounds that have room for a label. */
function labelled(bounds: readonly number[], heightPx: number): number[] {
  const every = Math.max(1, Math.ceil(((bounds.length - 1) * LABEL_PX) / heightPx));
  return [...bounds.keys()].filter((at) => at % every === 0);
}

function paint(
  canvas: HTMLCanvasElement,
  { bounds, columns, highest }: HeatRows,
  widthPx: number,
  heightPx: number,
): void {
  const ratio = devicePixelRatio;
  const [width, height] = [Math.round(widthPx * ratio), Math.round(heightPx * ratio)];
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null || highest === 0) return;
  context.fillStyle = resolveColour("var(--hue)", canvas);
  const rows = bounds.length - 1;
  const edge = (share: number, whole: number): number => Math.round(share * whole);
  for (const [at, counts] of columns.entries()) {
    const left = edge(at / columns.length, width);
    const right = edge((at + 1) / columns.length, width);
    for (const [row, count] of (counts ?? []).entries()) {
      if (count <= 0) continue;
      const top = edge(1 - (row + 1) / rows, height);
      const bottom = edge(1 - row / rows, height);
      context.globalAlpha = FAINTEST + (1 - FAINTEST) * Math.sqrt(count / highest);
      context.fillRect(left, top, right - left, bottom - top);
    }
  }
}
