/** A chart of PromQL queries over the current range, used by most pages. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { fleet } from "../live/feed.ts";
import { gpuId } from "../../../src/view/gpu.ts";
import { keyOf, type Labels } from "../query/columns.ts";
import { useEvents } from "../query/events.ts";
import { useExemplars } from "../query/exemplars.ts";
import { type RangeResult, useRange } from "../query/use-range.ts";
import type { TimeWindow } from "../view-state/range.ts";
import type { ChangeSubject } from "./changes-subject.ts";
import { Chart } from "./chart.tsx";
import { gpuColour, orderOf, shade, variant } from "./colour.ts";
import type { ChartThreshold } from "./threshold-handle.tsx";
import type {
  ChartData,
  ChartQuery,
  ColourFamily,
  ChartLimit,
  ChartLine,
  ChartStyle,
  StoredStatisticsOf,
} from "./model.ts";

export type ColourBy = "family" | "gpu" | "line";

/** More lines are unreadable and slow. The chart states the number of omitted lines, and the table lists all. */
const MOST_LINES = 100;

export interface QueryChartProps extends ChartStyle {
  readonly queries: readonly ChartQuery[];
  /** Shades of the family for one GPU; a hue per GPU for several; or a hue per line. */
  readonly colourBy?: ColourBy;
  readonly limits?: readonly ChartLimit[];
  readonly threshold?: ChartThreshold;
  readonly heightPx?: number;
  readonly empty?: string;
  readonly legend?: boolean;
  /** Selects the events to mark; all if absent. */
  readonly events?: (labels: Labels) => boolean;
  /** A query whose series' exemplars are drawn as dots. */
  readonly exemplarsOf?: string;
  readonly leastStepMs?: number;
  readonly window?: TimeWindow;
  /** Statistics of the store over the range; without them they are computed from the drawn points. */
  readonly stored?: StoredStatisticsOf;
  /** Subject of "What changed here?". If absent, the one GPU or machine that all lines belong to. */
  readonly changesOf?: ChangeSubject;
  readonly drag?: "zoom" | "mark";
  readonly children?: ComponentChildren;
}

export function QueryChart({
  queries,
  colourBy = "family",
  events,
  window,
  leastStepMs,
  exemplarsOf,
  ...rest
}: QueryChartProps) {
  const [widthPx, setWidth] = useState(0);
  const { answer, error, loading } = useRange(
    queries.map(({ query }) => query),
    {
      widthPx,
      ...(window === undefined ? {} : { window }),
      ...(leastStepMs === undefined ? {} : { leastStepMs }),
    },
  );
  const order = useOrder();
  const data = useMemo(
    () =>
      answer === undefined || answer.matrices.every((one) => one === undefined)
        ? undefined
        : dataOf(answer, queries, rest.family, colourBy, order),
    [answer, rest.family, colourBy, order],
  );
  const marks = useEvents(data?.window, events);
  const exemplars = useExemplars(exemplarsOf, data?.window);
  return (
    <Chart {...rest} {...{ queries, data, error, loading, marks, exemplars }} onWidth={setWidth} />
  );
}

/** Index of a GPU in the fleet, by id and, for series without a host, by uuid. */
function useOrder(): ReadonlyMap<string, number> {
  const devices = fleet.value?.devices;
  return useMemo(
    () =>
      new Map(
        (devices ?? []).flatMap((device, at) => [
          [gpuId(device), at],
          [device.uuid, at],
        ]),
      ),
    [devices],
  );
}

function dataOf(
  { matrices, grid, window }: RangeResult,
  queries: readonly ChartQuery[],
  family: ColourFamily,
  colourBy: ColourBy,
  order: ReadonlyMap<string, number>,
): ChartData {
  const used = new Map<string, number>();
  const nth = (what: string): number => {
    const place = used.get(what) ?? 0;
    used.set(what, place + 1);
    return place;
  };
  const lines: ChartLine[] = matrices.flatMap((matrix, at) => {
    const query = queries[at];
    if (matrix === undefined || query === undefined) return [];
    const { label, metric, dashed = false, family: hue = family } = query;
    const all = matrix.series.map((one) => one.labels);
    const colourOf = ({ uuid = "", host }: Labels): string => {
      if (dashed) return "var(--edge)";
      if (colourBy === "family") return shade(hue, nth(hue));
      if (colourBy === "line") return gpuColour(nth("line"));
      const id = host === undefined ? uuid : gpuId({ host, uuid });
      return variant(gpuColour(order.get(id) ?? orderOf(id)), nth(`gpu ${id}`));
    };
    return [...matrix.series]
      .sort(byLabels)
      .slice(0, MOST_LINES)
      .map(({ labels, values }) => ({
        key: `${at} ${keyOf(labels)}`,
        label: typeof label === "string" ? label : label(labels, all),
        values,
        labels,
        ...(metric === undefined ? {} : { metric }),
        colour: colourOf(labels),
        ...(dashed ? { dashed: true } : {}),
      }));
  });
  const found = matrices.reduce((sum, matrix) => sum + (matrix?.series.length ?? 0), 0);
  return {
    grid,
    window,
    lines,
    ...(found > lines.length ? { leftOut: found - lines.length } : {}),
  };
}

const byLabels = (one: { labels: Labels }, other: { labels: Labels }): number =>
  keyOf(one.labels).localeCompare(keyOf(other.labels), "en", { numeric: true });
