/** A row per day: the share of it with readings, and its totals. */
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { formatFixedPoint, toColumnQuantity, formatWithUnit } from "../../format/quantity.ts";
import { Table, type TableColumn } from "../../ui/table.tsx";
import type { Price } from "../fleet/price.ts";
import { aggregateHours, groupHoursByDay, type Hour } from "./hours.ts";
import type { HourlyKey } from "./metrics.ts";
import { Section } from "./section.tsx";

interface DayRow {
  readonly day: string;
  readonly hoursRead: number;
  readonly hoursOf: number;
  readonly utilization: number | undefined;
  readonly memory: number | undefined;
  readonly power: number | undefined;
  readonly powerMost: number | undefined;
  readonly hottest: number | undefined;
  readonly joules: number | undefined;
  readonly gpus: number | undefined;
}

const JOULES_PER_KWH = 3_600_000;
const absent = (
  <span class="absent" data-tip="No samples that day.">
    n/a
  </span>
);
const renderValue = (value: number | undefined, unit: Unit) =>
  value === undefined ? absent : formatWithUnit(toColumnQuantity(value, unit));

export function DaysTable({
  hours,
  values,
  price,
}: {
  hours: readonly Hour[];
  values: (key: HourlyKey) => Float64Array | undefined;
  price: Price | undefined;
}) {
  const rows = groupHoursByDay(hours)
    .map(({ day, at }): DayRow => {
      const gpus = values("gpus");
      return {
        day,
        hoursRead: at.filter((one) => !Number.isNaN(gpus?.[one] ?? Number.NaN)).length,
        hoursOf: at.length,
        utilization: aggregateHours(values("utilization"), at, "mean"),
        memory: aggregateHours(values("memory"), at, "mean"),
        power: aggregateHours(values("power"), at, "mean"),
        powerMost: aggregateHours(values("power"), at, "max"),
        hottest: aggregateHours(values("temperature"), at, "max"),
        joules: aggregateHours(values("energy"), at, "sum"),
        gpus: aggregateHours(gpus, at, "max"),
      };
    })
    .reverse();
  return (
    <Section id="days" title="Day by day">
      <Table
        caption="Days with their means, peaks and energy"
        class="stacked"
        columns={columnsOf(price)}
        rows={rows}
        rowKey={({ day }) => day}
      />
    </Section>
  );
}

const columnsOf = (price: Price | undefined): readonly TableColumn<DayRow>[] => [
  { key: "day", label: "Day", cell: ({ day }) => day, by: ({ day }) => day },
  {
    key: "hours",
    label: "Hours with data",
    numeric: true,
    tip: "Of the hours of that day in this range",
    cell: ({ hoursRead, hoursOf }) => (
      <>
        {hoursRead}
        <span class="of"> / {hoursOf}</span>
        <span class="unit"> h</span>
      </>
    ),
    by: ({ hoursRead }) => hoursRead,
  },
  {
    key: "gpus",
    label: "GPUs",
    numeric: true,
    cell: ({ gpus }) => (gpus === undefined ? absent : formatFixedPoint(gpus, 0)),
    by: ({ gpus }) => gpus,
  },
  {
    key: "utilization",
    label: "Utilisation",
    numeric: true,
    cell: (row) => renderValue(row.utilization, "ratio"),
    by: (row) => row.utilization,
  },
  {
    key: "memory",
    label: "Memory",
    numeric: true,
    cell: (row) => renderValue(row.memory, "ratio"),
    by: (row) => row.memory,
  },
  {
    key: "power",
    label: "Mean power",
    numeric: true,
    tip: "Of all GPUs together, over the hours that were read",
    cell: (row) => renderValue(row.power, "watts"),
    by: (row) => row.power,
  },
  {
    key: "most",
    label: "Peak hour",
    numeric: true,
    tip: "The hour with the highest mean power",
    cell: (row) => renderValue(row.powerMost, "watts"),
    by: (row) => row.powerMost,
  },
  {
    key: "hottest",
    label: "Hottest",
    numeric: true,
    tip: "The hottest reading of any sensor",
    cell: (row) => renderValue(row.hottest, "celsius"),
    by: (row) => row.hottest,
  },
  {
    key: "energy",
    label: "Energy",
    numeric: true,
    cell: ({ joules }) =>
      joules === undefined ? absent : `${formatFixedPoint(joules / JOULES_PER_KWH, 2)}\u00a0kWh`,
    by: ({ joules }) => joules,
  },
  ...(price === undefined
    ? []
    : [
        {
          key: "cost",
          label: "Cost",
          numeric: true,
          cell: ({ joules }: DayRow) => (joules === undefined ? absent : formatCost(joules, price)),
          by: ({ joules }: DayRow) => joules,
        },
      ]),
];

export const formatCost = (joules: number, { perKwh, currency }: Price): string =>
  `${formatFixedPoint((joules / JOULES_PER_KWH) * perKwh, 2)}${currency === "" ? "" : `\u00a0${currency}`}`;
