/**
 * Columns of the lake's wide GPU table: one per catalogue metric and set of label values. All column names are defined here. A
 * column is never renamed and never changes its unit, because old files keep the name.
 */
import {
  catalogue,
  findMetric,
  type LabelSpec,
  type MetricEntry,
  type Unit,
} from "./catalogue/index.ts";
import { type LabelSet, labelSet } from "./labels.ts";
import type { Series } from "./layout.ts";

export interface LakeColumn {
  readonly name: string;
  readonly metric: MetricEntry;
  /**
   * Labels that distinguish the column from the metric's other columns. The identity labels (uuid, gpu, host) have their own
   * columns.
   */
  readonly labels: LabelSet;
  readonly unit: Unit;
}

/** Labels whose values come from the device, with the values that get a column. Series with other values go to the long table. */
const knownValues: Readonly<Record<string, readonly string[]>> = {
  fan: ["1", "2", "3", "4"],
  rail: [
    "gfx",
    "soc",
    "memory",
    "vddci",
    "pwr_src",
    "slot",
    "6pin",
    "6pin_1",
    "6pin_2",
    "8pin",
    "8pin_1",
    "8pin_2",
    "8pin_3",
    "16pin",
  ],
};

/** Host metrics that a log of one GPU contains. All other host metrics are stored once per host, not once per GPU. */
const ofTheHost: readonly (readonly [metric: string, labels: Readonly<Record<string, string>>])[] =
  [
    ["host_cpu_temperature_celsius", { sensor: "package" }],
    ["host_memory_used_bytes", {}],
    ["host_memory_total_bytes", {}],
    ["host_memory_available_bytes", {}],
    ["host_load1", {}],
  ];

const who = new Set(["uuid", "gpu", "host"]);

/** In the order of the catalogue. A new column may appear anywhere, because readers find columns by name. */
export const columns: readonly LakeColumn[] = [
  ...catalogue.filter(isOfTheGpu).flatMap(columnsOf),
  ...ofTheHost.flatMap(([name, labels]) => {
    const metric = findMetric(name);
    return metric === undefined ? [] : [column(metric, labels)];
  }),
];

/** Names of the time and identity columns. No metric may use one of them. */
export const identityColumns = [
  "time",
  "host",
  "uuid",
  "gpu",
  "vendor",
  "model",
  "simulated",
  "tags",
] as const;

const byName = new Map(columns.map((one) => [one.name, one]));
const bySeries = new Map(columns.map(({ name, metric, labels }) => [key(metric, labels), name]));

/**
 * Returns the column of a series, or undefined if the series goes to the long table, as do series with a label that the metric does
 * not define.
 */
export function columnOf({ metric, suffix, labels }: Series): string | undefined {
  if (suffix !== "") return undefined;
  return bySeries.get(
    key(
      metric,
      labels.filter(([name]) => !who.has(name)),
    ),
  );
}

/** Returns the metric, labels and unit of a column, without its identity labels. */
export function seriesOf(name: string): LakeColumn | undefined {
  return byName.get(name);
}

function isOfTheGpu({ subject, kind }: MetricEntry): boolean {
  return subject === "device" && (kind === "gauge" || kind === "counter");
}

/** Returns one column per combination of label values, and none if one of the labels can have any value. */
function columnsOf(metric: MetricEntry): LakeColumn[] {
  let found: Readonly<Record<string, string>>[] = [{}];
  for (const spec of metric.labels)
    found = found.flatMap((labels) =>
      valuesOf(spec).map((value) => ({ ...labels, [spec.name]: value })),
    );
  return found.map((labels) => column(metric, labels));
}

function valuesOf({ name, values }: LabelSpec): readonly string[] {
  return values ?? knownValues[name] ?? [];
}

function column(metric: MetricEntry, labels: Readonly<Record<string, string>>): LakeColumn {
  const values = metric.labels.flatMap(({ name }) => labels[name] ?? []);
  return {
    // Only letters, digits and underscores, so that no SQL dialect needs quotes.
    name: [metric.name, ...values].join("_").replace(/[^a-z0-9_]/g, "_"),
    metric,
    labels: labelSet(labels),
    unit: metric.unit,
  };
}

function key({ name }: MetricEntry, labels: LabelSet): string {
  return [name, ...labels.map(([label, value]) => `${label}=${value}`)].join("\u0000");
}
