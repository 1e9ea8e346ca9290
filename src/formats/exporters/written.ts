/** Reads the names that our compatibility tables write: each row the other way round. */
import { gpu } from "../../model/catalogue/index.ts";
import type { CompatRow, CompatTable, Match, SourceMetric } from "../compat/row.ts";
import type { ExporterMetric } from "./table.ts";

/** By their name; rows whose value does not determine ours are left out. */
export function invertTable(table: CompatTable): ReadonlyMap<string, readonly ExporterMetric[]> {
  const metrics = new Map<string, ExporterMetric[]>();
  for (const row of table.rows)
    if (isReadable(row))
      metrics.set(row.name, [...(metrics.get(row.name) ?? []), readRow(row, table)]);
  return metrics;
}

/** A sum over labels that ours has, a value of two readings and a number without a unit of its own cannot be taken apart. */
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

/** For labels that a row writes whatever the GPU: those of a readable row depend on nothing. */
const noContext = ({ vendor }: CompatTable) => ({
  device: { uuid: "", index: 0, vendor, model: "", simulated: false },
  host: "",
  owner: {},
  gpus: 0,
  labelOf: () => undefined,
});
