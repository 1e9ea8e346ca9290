/**
 * The columns of the lake's wide GPU table: one per catalogue metric and set of label values. The one place that names them.
 * A column is never renamed or given another unit: files that were written long ago keep the name.
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
  /** The labels that distinguish it from the metric's other columns; identity (uuid, gpu, host) has columns of its own. */
  readonly labels: LabelSet;
  readonly unit: Unit;
}

/** Labels whose values come from the device, with those that are worth a column; another value goes to the long table. */
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

/** Host metrics that a log of one GPU contains. All others are stored once per host, not once per GPU. */
const ofTheHost: readonly (readonly [metric: string, labels: Readonly<Record<string, string>>])[] =
  [
    ["host_cpu_temperature_celsius", { sensor: "package" }],
    ["host_memory_used_bytes", {}],
    ["host_memory_total_bytes", {}],
    ["host_memory_available_bytes", {}],
    ["host_load1", {}],
  ];

const who = new Set(["uuid", "gpu", "host"]);

/** In the order of the catalogue; a new one may come anywhere, readers go by name. */
export const columns: readonly LakeColumn[] = [
  ...catalogue.filter(isOfTheGpu).flatMap(columnsOf),
  ...ofTheHost.flatMap(([name, labels]) => {
    const metric = findMetric(name);
    return metric === undefined ? [] : [column(metric, labels)];
  }),
];

/** Names of the time and identity columns; no metric may have one of them. */
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

/** The column a series is stored in; undefined: the long table. A label that the metric does not have must not be lost. */
export function columnOf({ metric, suffix, labels }: Series): string | undefined {
  if (suffix !== "") return undefined;
  return bySeries.get(
    key(
      metric,
      labels.filter(([name]) => !who.has(name)),
    ),
  );
}

/** What a column holds, without saying of whom. */
export function seriesOf(name: string): LakeColumn | undefined {
  return byName.get(name);
}

function isOfTheGpu({ subject, kind }: MetricEntry): boolean {
  return subject === "device" && (kind === "gauge" || kind === "counter");
}

/** Every combination of the values its labels can have; none where one of them can have any. */
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
    // Plain in every SQL dialect: letters, digits and underscores need no quotes.
    name: [metric.name, ...values].join("_").replace(/[^a-z0-9_]/g, "_"),
    metric,
    labels: labelSet(labels),
    unit: metric.unit,
  };
}

function key({ name }: MetricEntry, labels: LabelSet): string {
  return [name, ...labels.map(([label, value]) => `${label}=${value}`)].join("\u0000");
}
