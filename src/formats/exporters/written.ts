/** Reads the names that our compatibility tables write, by inverting each row. */
import { gpu } from "../../model/catalogue/index.ts";
import type { CompatRow, CompatTable, Match, SourceMetric } from "../compat/row.ts";
import type { ExporterMetric } from "./table.ts";

/** Keyed by their name; rows whose value does not determine ours are left out. */
export function invertTable(table: CompatTable): ReadonlyMap<string, readonly ExporterMetric[]> {
  const metrics = new Map<string, ExporterMetric[]>();
  for (const row of table.rows)
    if (isReadable(row))
      metrics.set(row.name, [...(metrics.get(row.name) ?? []), readRow(row, table)]);
  return metrics;
}

/** False for rows that cannot be inverted: a sum over our labels, a value of two readings, or a number without its own unit. */
export function isReadable(row: CompatRow): boolean {
  // The series of an instance carry the UUID of its GPU.
  if (row.ofInstances === true) return false;
  if (row.perHost === true || row.second !== undefined || row.whenNone !== undefined) return false;
  if (row.convert !== undefined && row.convert.read === undefined) return false;
  if (row.from === gpu.info) return false;
  return openLabels(row).length === 0;
}

/** Labels of our metric that neither the row's match nor its copied labels determine. */
function openLabels({ from, match = {}, copy = {} }: CompatRow): readonly string[] {
  const copied = new Set(Object.values(copy));
  return from.labels
    .map(({ name }) => name)
    .filter((name) => onlyValue(match[name]) === undefined && !copied.has(name));
}

const onlyValue = (wanted: Match[string] | undefined): string | undefined =>
  typeof wanted === "string" ? wanted : wanted?.length === 1 ? wanted[0] : undefined;

function readRow(row: CompatRow, table: CompatTable): ExporterMetric {
  const { from, match = {} }: SourceMetric = row;
  const labels = Object.entries(match).flatMap(([name, wanted]) => {
    const value = onlyValue(wanted);
    return value === undefined ? [] : [[name, value] as const];
  });
  const fixed = row.labels?.(noContext(table)) ?? {};
  const when = Object.entries(fixed).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return {
    metric: from,
    when: Object.fromEntries(when),
    labels: Object.fromEntries(labels),
    copy: Object.fromEntries(
      Object.entries(row.copy ?? {}).map(([theirs, ours]) => [ours, theirs]),
    ),
    read: row.convert?.read,
  };
}

/** The context for a row's labels: those of a readable row do not depend on the GPU. */
const noContext = ({ vendor }: CompatTable) => ({
  device: { uuid: "", index: 0, vendor, model: "", simulated: false },
  host: "",
  owner: {},
  gpus: 0,
  labelOf: () => undefined,
});
