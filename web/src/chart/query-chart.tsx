/** A chart of PromQL queries over the range in view: what most pages put on screen. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { fleet } from "../live/feed.ts";
import type { Labels } from "../query/columns.ts";
import { keyOf } from "../query/columns.ts";
import { useEvents } from "../query/events.ts";
import type { RangeAnswer } from "../query/use-range.ts";
import { useRange } from "../query/use-range.ts";
import type { Window } from "../view-state/range.ts";
import { Chart } from "./chart.tsx";
import { gpuColour, orderOf, shade } from "./colour.ts";
import type { ChartData, Family, Limit, Line, Look } from "./model.ts";

export interface ChartQuery {
  /** `$step` becomes the distance of the points. */
  readonly query: string;
  /** Names a line by its labels. */
  readonly label: string | ((labels: Labels) => string);
  /** Another family's hue for this query's lines. */
  readonly family?: Family;
  /** Dashed: a limit that the device tells over time. */
  readonly dashed?: boolean;
}

export interface QueryChartProps extends Look {
  readonly queries: readonly ChartQuery[];
  /** Shades of the family for one GPU; a hue for each GPU where several are in one chart. */
  readonly colourBy?: "family" | "gpu";
  readonly limits?: readonly Limit[];
  readonly heightPx?: number;
  readonly empty?: string;
  readonly legend?: boolean;
  /** Which events are marked on it; all of them where not given. */
  readonly events?: (labels: Labels) => boolean;
  readonly leastStepMs?: number;
  readonly window?: Window;
  readonly children?: ComponentChildren;
}

export function QueryChart({
  queries,
  colourBy = "family",
  events,
  window,
  leastStepMs,
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
      answer === undefined ? undefined : dataOf(answer, queries, rest.family, colourBy, order),
    [answer, rest.family, colourBy, order],
  );
  const marks = useEvents(data?.window, events);
  return <Chart {...rest} {...{ data, error, loading, marks }} onWidth={setWidth} />;
}

/** A GPU's place in the fleet, by uuid. */
function useOrder(): ReadonlyMap<string, number> {
  const devices = fleet.value?.devices;
  return useMemo(() => new Map((devices ?? []).map(({ uuid }, at) => [uuid, at])), [devices]);
}

function dataOf(
  { matrices, grid, window }: RangeAnswer,
  queries: readonly ChartQuery[],
  family: Family,
  colourBy: "family" | "gpu",
  order: ReadonlyMap<string, number>,
): ChartData {
  const used = new Map<Family, number>();
  const lines: Line[] = matrices.flatMap((matrix, at) => {
    const query = queries[at];
    if (matrix === undefined || query === undefined) return [];
    const hue = query.family ?? family;
    return [...matrix.series].sort(byLabels).map(({ labels, values }) => {
      const place = used.get(hue) ?? 0;
      if (query.dashed !== true) used.set(hue, place + 1);
      const { uuid } = labels;
      const own = uuid === undefined ? orderOf(keyOf(labels)) : (order.get(uuid) ?? orderOf(uuid));
      const colour =
        query.dashed === true
          ? "var(--edge)"
          : colourBy === "gpu"
            ? gpuColour(own)
            : shade(hue, place);
      return {
        key: `${at} ${keyOf(labels)}`,
        label: typeof query.label === "string" ? query.label : query.label(labels),
        values,
        labels,
        colour,
        ...(query.dashed === true ? { dashed: true } : {}),
      };
    });
  });
  return { grid, window, lines };
}

const byLabels = (one: { labels: Labels }, other: { labels: Labels }): number =>
  keyOf(one.labels).localeCompare(keyOf(other.labels), "en", { numeric: true });
