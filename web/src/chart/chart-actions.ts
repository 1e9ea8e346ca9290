/** The menu entries of every chart. A new entry takes one line in `chartActions`. */
import { boardLimits, type PanelKind } from "../../../src/view/board/board.ts";
import { type PinnedChart, pinnedChart } from "../app/pin.tsx";
import type { TimeGrid } from "../query/columns.ts";
import { mayChange } from "../query/me.ts";
import type { TimeWindow } from "../view-state/range.ts";
import { writeRange } from "../view-state/range.ts";
import { frozenHref, goTo } from "../view-state/address.ts";
import { copyToClipboard } from "../ui/copy.tsx";
import { csvOf, fileName, jsonOf, save } from "./export.ts";
import type { ChartData, ChartQuery, ChartStyle } from "./model.ts";
import { askForChanges, type ChangeSubject } from "./changes-subject.ts";
import { pictureOf, pictureText } from "./picture.ts";
import { combineQueries, fillStep } from "./promql.ts";
import type { StatisticsOptions } from "./statistics.ts";

/** What a menu entry can use of its chart. */
export interface ChartContext {
  readonly look: ChartStyle;
  /** The GPU that every line belongs to, such as `NVIDIA H200 #3 on node-1`. Absent if there are several. */
  readonly gpuName?: string | undefined;
  /** The queries behind the lines; empty if the chart is not drawn from PromQL. */
  readonly queries: readonly ChartQuery[];
  /** The grid of the queries, which `$step` in them refers to. */
  readonly grid?: Pick<TimeGrid, "stepMs"> | undefined;
  /** Panel kind on a board; a time series if absent. */
  readonly kind?: PanelKind;
  readonly window: TimeWindow;
  /** The GPU, machine or job for "What changed here?". */
  readonly changesOf?: ChangeSubject | undefined;
  /** The drawn data. Absent while it loads, and on timelines and heatmaps. */
  readonly data?: ChartData | undefined;
  readonly options?: StatisticsOptions;
  readonly canvas?: () => HTMLCanvasElement | undefined;
}

export interface ChartAction {
  readonly label: string;
  /** Returns false to omit the entry on this chart. */
  readonly isOffered: (chart: ChartContext) => boolean;
  /** A thrown error is shown as a message. */
  readonly run: (chart: ChartContext) => void | Promise<void>;
}

const isDrawn = ({ data }: ChartContext): boolean => data !== undefined && data.lines.length > 0;
const hasQueries = ({ queries }: ChartContext): boolean => queries.length > 0;

export const chartActions: readonly ChartAction[] = [
  {
    label: "What changed here?",
    isOffered: ({ changesOf }) => changesOf !== undefined,
    run: ({ changesOf, window }) => {
      if (changesOf !== undefined) askForChanges(changesOf, window);
    },
  },
  {
    label: "Open in Explore",
    isOffered: hasQueries,
    run: ({ queries, grid, window }) =>
      goTo("explore", exploreParams(fillStep(queries, grid), window)),
  },
  {
    label: "Create alert",
    isOffered: (chart) => hasQueries(chart) && mayChange.value,
    run: (chart) =>
      goTo("alerts", {
        tab: "rules",
        new: combineQueries(fillStep(chart.queries.slice(0, 1), chart.grid)),
      }),
  },
  {
    label: "Pin to board",
    isOffered: (chart) => hasQueries(chart) && mayChange.value,
    run: (chart) => {
      pinnedChart.value = panelOf(chart);
    },
  },
  {
    label: "Copy link with this time",
    isOffered: () => true,
    run: ({ window }) =>
      copyToClipboard(frozenHref(window), "The link is in the clipboard. It shows this time."),
  },
  { label: "PNG picture", isOffered: isDrawn, run: savePicture },
  {
    label: "CSV table",
    isOffered: isDrawn,
    run: (chart) => saveText(chart, csvOf, "text/csv", "csv"),
  },
  {
    label: "JSON",
    isOffered: isDrawn,
    run: (chart) => saveText(chart, jsonOf, "application/json", "json"),
  },
];

/** Fixes the time to that of the chart, because a relative range would show other data later. */
function exploreParams(queries: readonly ChartQuery[], window: TimeWindow) {
  return { expr: combineQueries(queries), ...writeRange({ kind: "between", ...window }) };
}

function panelOf(chart: ChartContext): PinnedChart {
  const { unit, min, max } = chart.look;
  return {
    title: fullTitle(chart).slice(0, boardLimits.titleCharacters),
    kind: chart.kind ?? "timeseries",
    queries: chart.queries.slice(0, boardLimits.queriesPerPanel).map(({ query, label }) => ({
      query,
      ...(typeof label === "string" ? { legend: label } : {}),
    })),
    unit,
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    columns: 6,
    rows: 4,
  };
}

/** The title with the GPU, for a picture without the page around it. */
const fullTitle = ({ look, gpuName }: ChartContext): string =>
  gpuName === undefined ? look.title : `${look.title}: ${gpuName}`;

function saveText(
  chart: ChartContext,
  write: (look: ChartStyle, data: ChartData) => string,
  type: string,
  ending: string,
): void {
  const { look, data } = chart;
  if (data === undefined) return;
  const title = fullTitle(chart);
  const text = write({ ...look, title }, data);
  save(new Blob([text], { type }), fileName(title, data.window, ending));
}

async function savePicture(chart: ChartContext): Promise<void> {
  const { look, data, options, canvas } = chart;
  const plot = canvas?.();
  if (data === undefined || options === undefined || plot === undefined) return;
  const title = fullTitle(chart);
  const size = { width: plot.width / devicePixelRatio, height: plot.height / devicePixelRatio };
  const picture = await pictureOf(pictureText({ ...look, title }, data, options), plot, size);
  save(picture, fileName(title, data.window, "png"));
}
