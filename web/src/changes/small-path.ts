/** The lines of a small chart as SVG paths. Pure. */

export type Cells = readonly (number | null)[];

export interface Scale {
  readonly x: (cell: number) => number;
  readonly y: (value: number) => number;
}

/** Scales all columns to the chart; a constant is drawn in the middle. */
export function scaleFor(columns: readonly Cells[], width: number, height: number): Scale {
  const values = columns.flat().filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const count = Math.max(1, ...columns.map(({ length }) => length));
  const span = high - low;
  return {
    x: (cell) => ((cell + 0.5) / count) * width,
    y: (value) => (span > 0 ? height - ((value - low) / span) * height : height / 2),
  };
}

/** A gap of one or two cells is the interval of the samples; a longer one is a real gap. */
const MOST_BRIDGED = 3;

const fixed = (value: number): string => String(Number(value.toFixed(1)));

/** The line is interrupted where readings are missing; a single reading is a dot. */
export function linePath(cells: Cells, { x, y }: Scale): string {
  let [path, before, isAlone] = ["", -Infinity, false];
  const dot = (): string => (isAlone ? "h0.1" : "");
  for (const [cell, value] of cells.entries()) {
    if (value === null) continue;
    const joins = cell - before <= MOST_BRIDGED;
    path += `${joins ? "L" : `${dot()}M`}${fixed(x(cell))} ${fixed(y(value))}`;
    isAlone = !joins;
    before = cell;
  }
  return path + dot();
}

/** The area between two columns, wherever both have a value. */
export function bandPath(low: Cells, high: Cells, { x, y }: Scale): string {
  let path = "";
  let [upper, lower]: [string[], string[]] = [[], []];
  const close = (): void => {
    if (upper.length > 1) path += `M${upper.join("L")}L${lower.toReversed().join("L")}Z`;
    [upper, lower] = [[], []];
  };
  let before = -Infinity;
  for (const [cell, top] of high.entries()) {
    const bottom = low[cell] ?? null;
    if (top === null || bottom === null) continue;
    if (cell - before > MOST_BRIDGED) close();
    upper.push(`${fixed(x(cell))} ${fixed(y(top))}`);
    lower.push(`${fixed(x(cell))} ${fixed(y(bottom))}`);
    before = cell;
  }
  close();
  return path;
}
