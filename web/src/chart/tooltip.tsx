/** The values of the lines under the cursor: time, exact value and unit, largest first. */
import { formatValue } from "../../../src/formats/prometheus/page.ts";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../format/readable.ts";
import { formatInstant } from "../view-state/range.ts";
import type { ChartData } from "./model.ts";
import { axisPx } from "./edges.ts";

const MOST_LINES = 12;

export interface TooltipProps {
  readonly data: ChartData;
  readonly unit: Unit;
  readonly at: number;
  readonly hidden: ReadonlySet<string>;
  /** Pixels from the plot's left edge. */
  readonly left: number;
  /** Width of the whole plot: the tooltip opens to the wider side, and stays on a phone's screen. */
  readonly widthPx: number;
}

export function Tooltip({ data, unit, at, hidden, left, widthPx }: TooltipProps) {
  const shown = data.lines
    .filter(({ key }) => !hidden.has(key))
    .map((line) => ({ ...line, value: line.values[at] ?? Number.NaN }))
    .sort((one, other) => (Number.isNaN(one.value) ? 1 : other.value - one.value));
  const more = shown.length - MOST_LINES;
  return (
    <div
      class="plot-tip"
      aria-hidden="true"
      data-side={left > widthPx / 2 ? "left" : "right"}
      style={{ left: `${axisPx() + left}px` }}
    >
      <p class="unit">{formatInstant(data.grid.startMs + at * data.grid.stepMs)}</p>
      {shown.slice(0, MOST_LINES).map(({ key, label, colour, value }) => (
        <p key={key}>
          <i class="swatch" style={{ "--swatch": colour }} />
          <span>{label}</span>
          <b data-exact={Number.isNaN(value) ? undefined : formatValue(value)}>
            {Number.isNaN(value) ? "n/a" : formatReadable(value, unit)}
          </b>
        </p>
      ))}
      {more > 0 && <p class="unit">and {more} more</p>}
    </div>
  );
}
