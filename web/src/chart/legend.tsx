/** The lines of a chart as a table: newest value, min, max and mean over the range, and the value under the cursor. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../format/readable.ts";
import { Absent } from "../ui/value.tsx";
import { dashOf } from "./dash.ts";
import type { ChartData, ChartLine } from "./model.ts";
import { type StatisticsOptions, statisticsOf } from "./statistics.ts";

export interface LegendProps {
  readonly data: ChartData;
  readonly unit: Unit;
  readonly hidden: ReadonlySet<string>;
  /** Grid index of the instant under the cursor. */
  readonly at: number | undefined;
  readonly options: StatisticsOptions;
  /** `alone`: show only this line. */
  readonly onToggle: (key: string, alone: boolean) => void;
}

export function Legend({ data, unit, hidden, at, options, onToggle }: LegendProps) {
  return (
    <div class="chart-legend">
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Line</span>
            </th>
            <th scope="col" class="numeric">
              {at !== undefined ? "at cursor" : options.isPast ? "last" : "now"}
            </th>
            <th scope="col" class="numeric">
              min
            </th>
            <th scope="col" class="numeric">
              max
            </th>
            <th scope="col" class="numeric">
              avg
            </th>
          </tr>
        </thead>
        <tbody>
          {data.lines.map((line, place) => (
            <Row
              key={line.key}
              {...{ line, unit, at, options, onToggle }}
              dash={dashOf(data.lines, place)}
              off={hidden.has(line.key)}
              isolated={
                data.lines.length < 2
                  ? undefined
                  : !hidden.has(line.key) && hidden.size === data.lines.length - 1
              }
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly line: ChartLine;
  readonly unit: Unit;
  readonly at: number | undefined;
  readonly options: StatisticsOptions;
  readonly dash: readonly number[];
  readonly off: boolean;
  /** True if only this line is shown; undefined if it is the only one. */
  readonly isolated: boolean | undefined;
  readonly onToggle: LegendProps["onToggle"];
}

function Row({ line, unit, at, options, dash, off, isolated, onToggle }: RowProps) {
  const found = statisticsOf(line, options);
  const pointed = at === undefined ? found?.newest : line.values[at];
  return (
    <tr data-off={off ? "" : undefined}>
      <th scope="row">
        <button
          type="button"
          aria-pressed={!off}
          data-tip={`${line.label}\nClick hides or shows it; a double click or Shift shows it alone.`}
          onClick={(event) => onToggle(line.key, event.shiftKey)}
          onDblClick={() => onToggle(line.key, true)}
        >
          <svg class="line-swatch" viewBox="0 0 20 4" aria-hidden="true">
            <path d="M0 2h20" stroke-dasharray={dash.join(" ")} style={{ stroke: line.colour }} />
          </svg>
          <span>{line.label}</span>
        </button>
        {isolated !== undefined && (
          <button
            type="button"
            class="only"
            aria-label={isolated ? "Show all lines" : `Show only ${line.label}`}
            onClick={() => onToggle(line.key, true)}
          >
            {isolated ? "all" : "only"}
          </button>
        )}
      </th>
      {[pointed, found?.min, found?.max, found?.mean].map((value, column) => (
        <td key={column} class="numeric">
          {value === undefined || Number.isNaN(value) ? (
            <Absent reason="stale" />
          ) : (
            formatReadable(value, unit)
          )}
        </td>
      ))}
    </tr>
  );
}
