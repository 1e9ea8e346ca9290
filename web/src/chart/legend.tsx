/** The lines of a chart as a table: now, least, most and mean over the range, and the value under the cursor. */
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../format/readable.ts";
import { Absent } from "../ui/value.tsx";
import type { ChartData, ChartLine } from "./model.ts";
import { statisticsOf } from "./statistics.ts";

export interface LegendProps {
  readonly data: ChartData;
  readonly unit: Unit;
  readonly hidden: ReadonlySet<string>;
  /** The instant pointed at, as a place in the grid. */
  readonly at: number | undefined;
  /** `alone`: only this one shall stay. */
  readonly onToggle: (key: string, alone: boolean) => void;
}

export function Legend({ data, unit, hidden, at, onToggle }: LegendProps) {
  return (
    <div class="chart-legend">
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">Line</span>
            </th>
            <th scope="col" class="numeric">
              {at === undefined ? "now" : "at cursor"}
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
          {data.lines.map((line) => (
            <Row key={line.key} {...{ line, unit, at, onToggle }} off={hidden.has(line.key)} />
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
  readonly off: boolean;
  readonly onToggle: LegendProps["onToggle"];
}

function Row({ line, unit, at, off, onToggle }: RowProps) {
  const found = statisticsOf(line.values);
  const pointed = at === undefined ? found?.now : line.values[at];
  return (
    <tr data-off={off ? "" : undefined}>
      <th scope="row">
        <button
          type="button"
          aria-pressed={!off}
          data-tip={`${line.label}\nClick hides or shows it, with Shift it alone stays.`}
          onClick={(event) => onToggle(line.key, event.shiftKey)}
        >
          <i
            class="swatch"
            data-dashed={line.dashed === true ? "" : undefined}
            style={{ "--swatch": line.colour }}
          />
          <span>{line.label}</span>
        </button>
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
