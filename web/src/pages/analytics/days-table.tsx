/** A row for each day: how much of it was read, and what it came to. */
import type { Unit } from "../../../../src/model/catalogue/entry.ts";
import { fixed, inColumn, written } from "../../format/quantity.ts";
import type { TableColumn } from "../../ui/table.tsx";
import { Table } from "../../ui/table.tsx";
import type { Price } from "../fleet/price.ts";
import type { Hour } from "./hours.ts";
import { days, folded } from "./hours.ts";
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
  <span class="absent" data-tip="No reading of it that day.">
    n/a
  </span>
);
const shown = (value: number | undefined, unit: Unit) =>
  value === undefined ? absent : written(inColumn(value, unit));

export function DaysTable({
  hours,
  values,
  price,
}: {
  hours: readonly Hour[];
  values: (key: HourlyKey) => Float64Array | undefined;
  price: Price | undefined;
}) {
  const rows = days(hours)
    .map(({ day, at }): DayRow => {
      const gpus = values("gpus");
      return {
        day,
        hoursRead: at.filter((one) => !Number.isNaN(gpus?.[one] ?? Number.NaN)).length,
        hoursOf: at.length,
        utilization: folded(values("utilization"), at, "mean"),
        memory: folded(values("memory"), at, "mean"),
        power: folded(values("power"), at, "mean"),
        powerMost: folded(values("power"), at, "max"),
        hottest: folded(values("temperature"), at, "max"),
        joules: folded(values("energy"), at, "sum"),
        gpus: folded(gpus, at, "max"),
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
    label: "Hours read",
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
    cell: ({ gpus }) => (gpus === undefined ? absent : fixed(gpus, 0)),
    by: ({ gpus }) => gpus,
  },
  {
    key: "utilization",
    label: "Utilisation",
    numeric: true,
    cell: (row) => shown(row.utilization, "ratio"),
    by: (row) => row.utilization,
  },
  {
    key: "memory",
    label: "Memory",
    numeric: true,
    cell: (row) => shown(row.memory, "ratio"),
    by: (row) => row.memory,
  },
  {
    key: "power",
    label: "Mean power",
    numeric: true,
    tip: "Of all GPUs together, over the hours that were read",
    cell: (row) => shown(row.power, "watts"),
    by: (row) => row.power,
  },
  {
    key: "most",
    label: "Highest hour",
    numeric: true,
    tip: "The hour with the highest mean power",
    cell: (row) => shown(row.powerMost, "watts"),
    by: (row) => row.powerMost,
  },
  {
    key: "hottest",
    label: "Hottest",
    numeric: true,
    tip: "The hottest reading of any sensor",
    cell: (row) => shown(row.hottest, "celsius"),
    by: (row) => row.hottest,
  },
  {
    key: "energy",
    label: "Energy",
    numeric: true,
    cell: ({ joules }) =>
      joules === undefined ? absent : `${fixed(joules / JOULES_PER_KWH, 2)}\u00a0kWh`,
    by: ({ joules }) => joules,
  },
  ...(price === undefined
    ? []
    : [
        {
          key: "cost",
          label: "Cost",
          numeric: true,
          cell: ({ joules }: DayRow) => (joules === undefined ? absent : sayCost(joules, price)),
          by: ({ joules }: DayRow) => joules,
        },
      ]),
];

export const sayCost = (joules: number, { perKwh, currency }: Price): string =>
  `${fixed((joules / JOULES_PER_KWH) * perKwh, 2)}${currency === "" ? "" : `\u00a0${currency}`}`;
