/** The chart of every page: title, menu, plot with the shared cursor, marks, legend, and a text summary. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatReadable } from "../format/readable.ts";
import type { ApiError } from "../query/http.ts";
import { useLate } from "../ui/use-late.ts";
import { useWidthAfterPaint, widthOf } from "../ui/use-size.ts";
import { formatInstant, formatRange, rangeBetween, type TimeWindow } from "../view-state/range.ts";
import { dark } from "../view-state/preferences.ts";
import { following, range, timeWindow, zoomTo } from "../view-state/time.ts";
import { ChangesOffer } from "./changes-offer.tsx";
import { type ChangeSubject, changeSubjectOf } from "./changes-subject.ts";
import { ChartMenu } from "./chart-menu.tsx";
import { cursor } from "./cursor.ts";
import { gpuNameOf } from "./gpu-name.ts";
import { moveCursor } from "./keys.ts";
import { Legend } from "./legend.tsx";
import { Marks } from "./marks.tsx";
import { ExemplarDots } from "./exemplar-dots.tsx";
import type {
  ChartData,
  ChartExemplar,
  ChartLimit,
  ChartStyle,
  ChartMark,
  ChartQuery,
  StoredStatisticsOf,
} from "./model.ts";
import { axisFontPx, axisPx, scaled } from "./edges.ts";
import { enlarge, enlargedHeightPx, useEnlarged } from "./enlarge.ts";
import { Plot } from "./plot.ts";
import type { StatisticsOptions } from "./statistics.ts";
import { describeChart } from "./summary.ts";
import { type ChartThreshold, ThresholdHandle } from "./threshold-handle.tsx";
import { Tooltip } from "./tooltip.tsx";

export interface ChartProps extends ChartStyle {
  readonly data: ChartData | undefined;
  /** The PromQL behind the lines, for the menu. */
  readonly queries?: readonly ChartQuery[];
  readonly loading: boolean;
  readonly error: ApiError | undefined;
  readonly limits?: readonly ChartLimit[];
  /** A level that the user can move. */
  readonly threshold?: ChartThreshold;
  readonly marks?: readonly ChartMark[];
  readonly exemplars?: readonly ChartExemplar[];
  readonly heightPx?: number;
  /** Text for a chart without readings. */
  readonly empty?: string;
  /** Additional elements beside the title. */
  readonly children?: ComponentChildren;
  readonly legend?: boolean;
  readonly stored?: StoredStatisticsOf;
  /** Reports the width of the plot, which decides the step of the queries. */
  readonly onWidth?: (widthPx: number) => void;
  /** Subject of "What changed here?". If absent, the one GPU or machine that all lines belong to. */
  readonly changesOf?: ChangeSubject;
  /** Effect of dragging: change the range of the page, or mark a time on a chart with its own range. */
  readonly drag?: "zoom" | "mark";
}

const none: readonly never[] = [];

export function Chart(props: ChartProps) {
  const { title, unit, family, data, limits = none, marks = none } = props;
  const [isLog, setLog] = useState(false);
  const isEnlarged = useEnlarged(title);
  const heightPx = isEnlarged ? enlargedHeightPx() : (props.heightPx ?? scaled(168));
  const look: ChartStyle = { title, unit, family, ...edges(props), isLog };
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [dragged, setDragged] = useState<TimeWindow | undefined>(undefined);
  const [me] = useState(() => ({}));
  const measuredPx = useWidthAfterPaint(host);
  const widthPx = measuredPx ?? 0;
  const id = useId();
  useEffect(() => {
    if (host.current !== null) props.onWidth?.(widthOf(host.current));
  }, [measuredPx]);

  const shape = JSON.stringify([
    data?.lines.map(({ key, label, colour, dashed }) => [key, label, colour, dashed]),
    limits,
    look,
    dark(),
    // False for the first frame, which measures the width itself.
    data === undefined || measuredPx === 0,
    // Captured by the plot when it is created.
    axisFontPx(),
  ]);
  // Before the frame is painted, not after it.
  useLayoutEffect(() => {
    const hostPx = host.current === null ? 0 : widthOf(host.current);
    if (host.current === null || data === undefined || hostPx === 0) return undefined;
    const made = new Plot(
      {
        host: host.current,
        look,
        limits,
        widthPx: hostPx,
        heightPx,
        events: {
          point: (index) => {
            const { startMs, stepMs } = latest.current.grid;
            cursor.value =
              index === undefined ? undefined : { ms: startMs + index * stepMs, from: me };
          },
          zoom: (oneMs, otherMs) => {
            const { fromMs, toMs } = rangeBetween(oneMs, otherMs);
            setDragged({ fromMs, toMs });
            if (props.drag !== "mark") zoomTo(fromMs, toMs);
          },
        },
      },
      data,
      hidden,
    );
    plot.current = made;
    return () => {
      plot.current = undefined;
      made.destroy();
    };
  }, [shape]);
  const latest = useRef<ChartData>(nothing);
  latest.current = data ?? nothing;
  useEffect(() => {
    if (data !== undefined) plot.current?.update(data);
  }, [data]);
  useEffect(() => plot.current?.show(hidden), [hidden, shape]);
  useEffect(() => {
    if (widthPx > 0) plot.current?.resize(widthPx, heightPx);
  }, [widthPx, heightPx]);

  const pointed = cursor.value;
  // Looked up in the newest data: an instant that this chart lacks now may be in the next result.
  const at = pointed === undefined ? undefined : placeOf(pointed.ms, data ?? nothing);
  const own = pointed?.from === me;
  useEffect(() => {
    if (!own || pointed.keys === true) plot.current?.pointAt(pointed?.ms);
  }, [pointed?.ms, pointed?.from]);

  const subject =
    props.changesOf ?? changeSubjectOf(data?.lines.map(({ labels }) => labels) ?? none);
  const options: StatisticsOptions = { isPast: !following.value, stored: props.stored };
  const empty = data?.lines.length === 0;
  return (
    <figure
      class="chart"
      data-family={family}
      data-enlarged={isEnlarged ? "" : undefined}
      aria-labelledby={`${id}t`}
    >
      <figcaption>
        <h3 id={`${id}t`}>{title}</h3>
        {props.children}
        <span class="spacer" />
        <button
          type="button"
          class="quiet chart-more"
          aria-label={isEnlarged ? `Close the large view of ${title}` : `Enlarge ${title}`}
          data-tip={isEnlarged ? "Close (Escape)" : "Enlarge"}
          onClick={() => enlarge(isEnlarged ? undefined : title)}
        >
          {/* Not the character for it: a font that has one is looked for before the first paint, 20 ms on a busy machine. */}
          <svg class="chart-icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d={isEnlarged ? "m4 4 8 8m0-8-8 8" : "M9.5 2.5h4v4m0-4-5 5m-2 6h-4v-4m0 4 5-5"} />
          </svg>
        </button>
        <ChartMenu
          {...{ look, data, options }}
          own={[
            {
              label: isLog ? "Linear scale" : "Logarithmic scale",
              run: () => setLog(!isLog),
            },
          ]}
          gpuName={gpuNameOf(data?.lines.map(({ labels }) => labels) ?? none)}
          queries={props.queries ?? none}
          grid={data?.grid}
          window={data?.window ?? timeWindow.value}
          changesOf={subject}
          canvas={() => plot.current?.canvas}
        />
      </figcaption>
      <div
        class="plot"
        style={{ "--plot-height": `${heightPx}px` }}
        role="group"
        // Arrow keys move along the plot, as with a slider.
        tabIndex={data === undefined || empty ? -1 : 0}
        aria-label={`${title}: arrow keys read values, plus zooms in`}
        aria-describedby={`${id}s`}
        onKeyDown={(event) => {
          if (data !== undefined && moveCursor(event, data, at, me)) event.stopPropagation();
        }}
        onBlur={() => {
          if (cursor.peek()?.from === me) cursor.value = undefined;
        }}
      >
        <div class="plot-host" ref={host} />
        {data !== undefined && own && at !== undefined && (
          <Tooltip
            data={data}
            unit={unit}
            at={at}
            hidden={hidden}
            left={plot.current?.leftOf(timeAt(at, data)) ?? 0}
            widthPx={widthPx - axisPx()}
          />
        )}
        {data !== undefined && dragged !== undefined && (
          <ChangesOffer
            {...{ dragged, subject }}
            window={data.window}
            onClose={() => setDragged(undefined)}
          />
        )}
        {data !== undefined && <Marks marks={marks} window={data.window} />}
        {data !== undefined && (
          <ExemplarDots
            exemplars={props.exemplars ?? none}
            window={data.window}
            topOf={(value) => plot.current?.topOf(value)}
          />
        )}
        {data !== undefined && props.threshold !== undefined && (
          <ThresholdHandle {...props.threshold} unit={unit} plot={() => plot.current} />
        )}
        <PlotPlaceholder {...props} nothing={empty} />
      </div>
      {data !== undefined && !empty && props.legend !== false && (
        <Legend
          {...{ data, unit, hidden, at, options }}
          onToggle={(key, alone) => setHidden(toggled(hidden, key, alone, data))}
        />
      )}
      {data?.leftOut !== undefined && (
        <p class="unit">and {data.leftOut} more lines that are not drawn</p>
      )}
      <p id={`${id}s`} class="unseen">
        {data === undefined
          ? `${title}: no data yet.`
          : describeChart(
              { title, unit, rangeText: formatRange(range.value) },
              data,
              options,
              limits,
            )}
      </p>
      <p class="unseen" role="status">
        {own && at !== undefined && data !== undefined ? spoken(data, unit, at) : ""}
      </p>
    </figure>
  );
}

const nothing: ChartData = {
  grid: { startMs: 0, endMs: 0, stepMs: 1 },
  window: { fromMs: 0, toMs: 1 },
  lines: [],
};

/** Replaces the plot: a spinner for slow loading, the hub's error message, or a text for missing data. */
function PlotPlaceholder({
  data,
  loading,
  error,
  nothing: isEmpty,
  empty = "No reading in this range.",
}: ChartProps & { readonly nothing: boolean }) {
  const late = useLate(loading && data === undefined);
  if (error !== undefined && error.status !== 0)
    return (
      <p class="plot-says bad" role="alert">
        {error.message}
      </p>
    );
  if (late) return <p class="plot-says">Loading…</p>;
  return isEmpty && !loading ? <p class="plot-says">{empty}</p> : null;
}

const edges = ({ min, max }: ChartStyle): Pick<ChartStyle, "min" | "max"> => ({
  ...(min === undefined ? {} : { min }),
  ...(max === undefined ? {} : { max }),
});

const timeAt = (at: number, { grid }: ChartData): number => grid.startMs + at * grid.stepMs;

function placeOf(ms: number, { grid, lines }: ChartData): number | undefined {
  const at = Math.round((ms - grid.startMs) / grid.stepMs);
  return at >= 0 && at < (lines[0]?.values.length ?? 0) ? at : undefined;
}

function toggled(
  hidden: ReadonlySet<string>,
  key: string,
  alone: boolean,
  { lines }: ChartData,
): ReadonlySet<string> {
  if (alone) {
    const others = lines.flatMap((line) => (line.key === key ? [] : [line.key]));
    const isAlone = !hidden.has(key) && others.every((other) => hidden.has(other));
    return new Set(isAlone ? [] : others);
  }
  const next = new Set(hidden);
  if (!next.delete(key)) next.add(key);
  return next;
}

function spoken({ grid, lines }: ChartData, unit: ChartStyle["unit"], at: number): string {
  const texts = lines.slice(0, 6).map(({ label, values }) => {
    const value = values[at];
    return `${label} ${value === undefined || Number.isNaN(value) ? "no reading" : formatReadable(value, unit)}`;
  });
  return `${formatInstant(grid.startMs + at * grid.stepMs).slice(11)}: ${texts.join(", ")}`;
}
