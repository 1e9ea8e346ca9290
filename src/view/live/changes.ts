/**
 * Encodes a frame as the changes since the previous frame: a tenth of its size, by columns, so that equal numbers are adjacent. The
 * hub encodes, the page applies; both hold the previous frame.
 */
import {
  type ColumnKey,
  columnKeys,
  type LiveFrame,
  type WireChanges,
  type WireColumnChanges,
  type WireRow,
  type WireValue,
} from "./protocol.ts";

/** Counters that no page shows live; in an applied frame they are stale. The terminal reads whole frames. */
const omitted: ReadonlySet<ColumnKey> = new Set([
  "interconnectRxTotal",
  "interconnectTxTotal",
  "energyTotal",
  "energyIntegratedTotal",
]);
export const isOmitted = columnKeys.map((key) => omitted.has(key));

/** Pages show three digits. A value that differs only beyond the fourth counts as unchanged. */
const significantDigits = 4;

/** If at least this share of the rows changed, a whole column is shorter than the changes with their positions. */
const wholeColumnFrom = 0.5;

/** Returns undefined if the frames have different rows: then a whole frame has to be sent. */
export function encodeChanges(before: LiveFrame, after: LiveFrame): WireChanges | undefined {
  if (before.fleet !== after.fleet || before.rows.length !== after.rows.length) return undefined;
  const columns: WireColumnChanges[] = [];
  for (let column = 0; column < columnKeys.length; column += 1) {
    if (isOmitted[column] === true) continue;
    const changes = columnChanges(column, before.rows, after.rows);
    if (changes !== undefined) columns.push(changes);
  }
  const rows = after.rows.flatMap((row, at) => {
    const rest = restOf(row);
    const earlier = before.rows[at];
    const isSame =
      earlier !== undefined && JSON.stringify(restOf(earlier)) === JSON.stringify(rest);
    return isSame ? [] : [[at, rest] as const];
  });
  return {
    fleet: after.fleet,
    baseMs: before.timeMs,
    timeMs: after.timeMs,
    problems: after.problems,
    columns,
    ...ageColumns(after.rows),
    rows,
  };
}

/** Returns the frame after the changes, or undefined if they refer to a different frame. */
export function applyChanges(before: LiveFrame, changes: WireChanges): LiveFrame | undefined {
  if (before.fleet !== changes.fleet || before.timeMs !== changes.baseMs) return undefined;
  const values = before.rows.map((row) =>
    row.values.map((value, column) => (isOmitted[column] === true ? "stale" : value)),
  );
  for (const [column, changed, positions] of changes.columns) {
    let at = 0;
    changed.forEach((value, nth) => {
      at = positions === undefined ? nth : at + (positions[nth] ?? 0);
      const row = values[at];
      if (row !== undefined) row[column] = value;
    });
  }
  const rest = new Map(changes.rows);
  const rows = before.rows.map((row, at): WireRow => ({
    ...(rest.get(at) ?? restOf(row)),
    values: values[at] ?? [],
    ageMs: changes.ages[changes.ageOf[at] ?? -1] ?? {},
  }));
  return { fleet: changes.fleet, timeMs: changes.timeMs, problems: changes.problems, rows };
}

function columnChanges(
  column: number,
  before: readonly WireRow[],
  after: readonly WireRow[],
): WireColumnChanges | undefined {
  const [positions, changed]: [number[], WireValue[]] = [[], []];
  let last = 0;
  after.forEach(({ values }, at) => {
    const [now, earlier] = [values[column] ?? "stale", before[at]?.values[column] ?? "stale"];
    if (now === earlier) return;
    const value = rounded(now);
    if (value === rounded(earlier)) return;
    positions.push(at - last);
    changed.push(value);
    last = at;
  });
  if (changed.length === 0) return undefined;
  if (changed.length < after.length * wholeColumnFrom) return [column, changed, positions];
  return [column, after.map(({ values }) => rounded(values[column] ?? "stale"))];
}

/** With the significant digits that pages get. */
export function rounded(value: WireValue): WireValue {
  if (typeof value !== "number" || value === 0 || !Number.isFinite(value)) return value;
  const decimals = significantDigits - 1 - Math.floor(Math.log10(Math.abs(value)));
  // Only powers of ten above 1 are exact: dividing by them leaves no binary rounding digits.
  const unit = 10 ** Math.abs(decimals);
  return decimals >= 0 ? Math.round(value * unit) / unit : Math.round(value / unit) * unit;
}

/** Rows of one source have the same age, so each distinct age is sent once. */
export function ageColumns(rows: readonly WireRow[]): Pick<WireChanges, "ages" | "ageOf"> {
  const ages = new Map<string, number>();
  const ageOf = rows.map(({ ageMs }) => {
    const key = JSON.stringify(ageMs);
    const known = ages.get(key) ?? ages.size;
    ages.set(key, known);
    return known;
  });
  return { ages: [...ages.keys()].map((key) => JSON.parse(key) as WireRow["ageMs"]), ageOf };
}

/** Everything of a row besides values and ages. */
export function restOf({
  throttle,
  bound,
  job,
  user,
  xids,
}: WireRow): WireChanges["rows"][number][1] {
  return {
    throttle,
    ...(bound === undefined ? {} : { bound }),
    ...(job === undefined ? {} : { job }),
    ...(user === undefined ? {} : { user }),
    ...(xids === undefined ? {} : { xids }),
  };
}
