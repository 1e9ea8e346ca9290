/** The result as a table: a column per label that distinguishes series, and the value with its unit. */
import { formatValue } from "../../../../src/formats/prometheus/page.ts";
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { formatReadable } from "../../format/readable.ts";
import type { InstantSample } from "../../query/client.ts";
import { keyOf } from "../../query/columns.ts";
import { differingLabelNames } from "../../query/label-text.ts";
import { useInstant } from "../../query/use-fetch.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { useLate } from "../../ui/use-late.ts";
import { formatInstant } from "../../view-state/range.ts";
import { timeWindow } from "../../view-state/time.ts";

export function ResultsTable({ query, unit }: { query: string; unit: Unit }) {
  const { value, error, loading } = useInstant(query, timeWindow.value.toMs);
  const late = useLate(loading && value === undefined);
  if (error !== undefined && error.status !== 0)
    return (
      <p class="bad" role="alert">
        {error.message}
      </p>
    );
  if (value === undefined) return late ? <p class="unit">Loading…</p> : null;
  const { samples } = value;
  const [first] = samples;
  return (
    <>
      <p class="unit">
        {samples.length} {samples.length === 1 ? "value" : "values"}
        {first === undefined ? "" : ` at ${formatInstant(first.timeMs)}`}
      </p>
      <Table
        caption={`Values of ${query}`}
        columns={columnsOf(samples, unit, value.type === "matrix")}
        rows={samples}
        rowKey={({ labels, timeMs }) => `${keyOf(labels)} ${timeMs}`}
        empty="No series has a value at this instant."
      />
    </>
  );
}

function columnsOf(
  samples: readonly InstantSample[],
  unit: Unit,
  times: boolean,
): readonly TableColumn<InstantSample>[] {
  const names = differingLabelNames(samples.map(({ labels }) => labels));
  return [
    ...names.map((name): TableColumn<InstantSample> => ({
      key: name,
      label: name === "__name__" ? "metric" : name,
      cell: ({ labels }) => labels[name] ?? <span class="unit">–</span>,
      by: ({ labels }) => labels[name],
    })),
    ...(times
      ? [
          {
            key: "time",
            label: "time",
            cell: ({ timeMs }: InstantSample) => formatInstant(timeMs),
            by: ({ timeMs }: InstantSample) => timeMs,
          },
        ]
      : []),
    {
      key: "value",
      label: "value",
      numeric: true,
      cell: ({ value, text }) => (Number.isNaN(value) ? text : formatReadable(value, unit)),
      by: ({ value }) => value,
      rowTip: ({ value }) => formatValue(value),
    },
  ];
}
