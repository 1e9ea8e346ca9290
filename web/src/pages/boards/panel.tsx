/** One panel: its queries with the variables filled in, drawn according to its kind. */
import {
  type Board,
  type BoardPanel,
  fillLegend,
  fillVariables,
} from "../../../../src/view/board/board.ts";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { HeatmapFigure } from "../../chart/heatmap-figure.tsx";
import { QueryChart } from "../../chart/query-chart.tsx";
import { formatReadable } from "../../format/readable.ts";
import { type InstantSample, withStep } from "../../query/client.ts";
import { keyOf, type Labels } from "../../query/columns.ts";
import { differingLabelNames, labelText } from "../../query/label-text.ts";
import { familyOf, unitOf } from "../../query/meaning.ts";
import { useInstant } from "../../query/use-fetch.ts";
import { rangeMs, timeWindow } from "../../view-state/time.ts";
import { ResultsTable } from "../explore/results-table.tsx";
import { chosenValues } from "./view.ts";

/** More values than this become a table. */
const MOST_VALUES = 24;
const ROW_PX = 56;

export interface PanelProps {
  readonly board: Pick<Board, "variables">;
  readonly panel: BoardPanel;
  /** Height of the plot; derived from the panel's rows if absent. */
  readonly heightPx?: number;
  readonly legend?: boolean;
}

export function Panel({ board, panel, heightPx = panel.rows * ROW_PX, legend = true }: PanelProps) {
  const { kind, title, min, max } = panel;
  const chosen = chosenValues(board);
  const queries = panel.queries.map((one) => ({
    ...one,
    query: fillVariables(one.query, board.variables, chosen, rangeMs.value),
  }));
  const [first] = queries;
  const text = first?.query ?? "";
  const unit = panel.unit ?? unitOf(text);
  if (kind === "timeseries")
    return (
      <QueryChart
        key={JSON.stringify(queries)}
        title={title}
        unit={unit}
        family={familyOf(text)}
        colourBy="line"
        heightPx={heightPx}
        legend={legend}
        queries={queries.map(({ query, legend: name }) => ({ query, label: lineLabel(name) }))}
        {...(min === undefined ? {} : { min })}
        {...(max === undefined ? {} : { max })}
      />
    );
  if (kind === "heatmap")
    return (
      <HeatmapFigure
        key={text}
        {...{ title, unit, heightPx }}
        query={text}
        family={familyOf(text)}
      />
    );
  const instant = queries.map((one) => ({
    ...one,
    query: withStep(one.query, { stepMs: 60_000 }),
  }));
  return (
    <figure class="chart" aria-label={title}>
      <figcaption>
        <h3>{title}</h3>
      </figcaption>
      {/* Scrolls if its values need more room, so that it takes the focus. */}
      <div
        class="panel-body"
        role="group"
        aria-label={`Values of ${title}`}
        tabIndex={0}
        style={{ "--panel-height": `${heightPx}px` }}
      >
        {kind === "table"
          ? instant.map(({ query }) => <ResultsTable key={query} query={query} unit={unit} />)
          : instant.map(({ query, legend: name }) => (
              <Values key={query} {...{ query, unit, name, min, max }} isGauge={kind === "gauge"} />
            ))}
      </div>
    </figure>
  );
}

const lineLabel =
  (legend: string | undefined) =>
  (labels: Labels, all: readonly Labels[]): string =>
    legend === undefined || legend === ""
      ? labelText(labels, differingLabelNames(all))
      : fillLegend(legend, labels) || legend;

interface ValuesProps {
  readonly query: string;
  readonly unit: Unit;
  readonly name: string | undefined;
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly isGauge: boolean;
}

/** The newest value of each series: as a large number, or as a bar between its minimum and maximum. */
function Values({ query, unit, name, min, max, isGauge }: ValuesProps) {
  const { value, error, loading } = useInstant(query, timeWindow.value.toMs);
  if (error !== undefined && error.status !== 0)
    return (
      <p class="bad" role="alert">
        {error.message}
      </p>
    );
  if (value === undefined) return loading ? <p class="unit">Loading…</p> : null;
  const { samples } = value;
  if (samples.length === 0) return <p class="unit">No reading at this time.</p>;
  const all = samples.map(({ labels }) => labels);
  const [low, high] = [min ?? 0, max ?? (unit === "ratio" ? 1 : highestOf(samples))];
  return (
    <ul class={isGauge ? "gauges" : "stats"} data-family={familyOf(query)}>
      {samples.slice(0, MOST_VALUES).map((sample) => (
        <li key={keyOf(sample.labels)}>
          <span class="of">
            {samples.length === 1 && (name === undefined || name === "")
              ? ""
              : lineLabel(name)(sample.labels, all)}
          </span>
          <strong>
            {Number.isNaN(sample.value) ? sample.text : formatReadable(sample.value, unit)}
          </strong>
          {isGauge && <GaugeBar share={(sample.value - low) / (high - low)} />}
        </li>
      ))}
      {samples.length > MOST_VALUES && (
        <li class="unit">and {samples.length - MOST_VALUES} more</li>
      )}
    </ul>
  );
}

/** Without a configured maximum, bars are relative to the highest value. */
const highestOf = (samples: readonly InstantSample[]): number =>
  Math.max(Number.MIN_VALUE, ...samples.map(({ value }) => (Number.isFinite(value) ? value : 0)));

function GaugeBar({ share }: { share: number }) {
  const known = Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0;
  return (
    <span class="bar" aria-hidden="true">
      <span class="fill" style={{ transform: `scaleX(${known})` }} />
    </span>
  );
}
