/**
 * gpulse's own CSV, as `gpulse query --csv` prints it: one column per label, then `time` and `value`; one line per sample. Pure.
 *
 *   __name__,gpu,host,uuid,time,value
 *   gpu_power_watts,0,pc,GPU-1,2026-01-01T00:00:00.000Z,83.2
 */

export interface CsvSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly timeMs: number;
  readonly value: number;
}

/** True if the first line is that of gpulse's own CSV. */
export function isCsvHeader(cells: readonly string[]): boolean {
  return ["__name__", "time", "value"].every((name) => cells.includes(name));
}

/** The sample, or a sentence with the error. */
export function csvSample(
  columns: readonly string[],
  cells: readonly string[],
): CsvSample | string {
  if (cells.length !== columns.length) return "the line has another number of cells than the first";
  const labels: Record<string, string> = {};
  let [name, timeMs, value] = ["", Number.NaN, undefined as number | undefined];
  for (const [at, column] of columns.entries()) {
    const cell = cells[at] ?? "";
    if (column === "time") timeMs = timeOf(cell);
    else if (column === "value") value = valueOf(cell);
    else if (column === "__name__") name = unarmed(cell);
    else if (cell !== "") labels[column] = unarmed(cell);
  }
  if (name === "") return "the line names no metric";
  if (Number.isNaN(timeMs)) return "the line's time is invalid";
  if (value === undefined) return "the line's value is not a number";
  return { name, labels, timeMs, value };
}

export function splitCells(record: string): string[] {
  if (!record.includes('"')) return record.split(",").map(unarmed);
  const cells: string[] = [];
  const cell = /("(?:[^"]|"")*"|[^,]*)(,|$)/gy;
  for (let match = cell.exec(record); match !== null; match = cell.exec(record)) {
    const [, given = "", separator] = match;
    cells.push(given.startsWith('"') ? given.slice(1, -1).replaceAll('""', '"') : given);
    if (separator === "") break;
  }
  return cells;
}

/** RFC 3339, or Unix seconds. */
function timeOf(cell: string): number {
  return /^-?\d+(\.\d+)?$/.test(cell) ? Math.round(Number(cell) * 1_000) : Date.parse(cell);
}

function valueOf(cell: string): number | undefined {
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(cell) ? Number(cell) : undefined;
}

/** `gpulse query` puts a quote before text that a spreadsheet would run as a formula; this removes it. */
const unarmed = (cell: string): string => (/^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell);
