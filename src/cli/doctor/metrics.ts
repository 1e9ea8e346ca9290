/** The value of each metric on this machine, or how many GPUs do not report it and why. Pure. */
import { labelValue } from "../../model/labels.ts";
import type { DeviceView, DeviceReading } from "../../sinks/latest/devices.ts";

export interface MetricFinding {
  /** Name with the labels that distinguish its series on one GPU: `gpu_temperature_celsius{sensor="edge"}`. */
  readonly metric: string;
  readonly unit: string;
  /** Number of GPUs that report it. */
  readonly told: number;
  /** The value of the first GPU that reports it. */
  readonly example?: number;
  /** Number of GPUs that do not, by reason. */
  readonly absent: Readonly<Record<string, number>>;
}

export function metricFindings(views: readonly DeviceView[]): MetricFinding[] {
  const byName = new Map<string, { unit: string; readings: DeviceReading[] }>();
  for (const { readings } of views) {
    for (const reading of readings) {
      const name = formatSeriesName(reading);
      const entry = byName.get(name) ?? { unit: reading.metric.unit, readings: [] };
      entry.readings.push(reading);
      byName.set(name, entry);
    }
  }
  return [...byName].map(([metric, { unit, readings }]) => {
    const reported = readings.filter(({ value }) => value !== undefined);
    const absent: Record<string, number> = {};
    for (const { absent: reason } of readings) {
      if (reason !== undefined) absent[reason] = (absent[reason] ?? 0) + 1;
    }
    const example = reported[0]?.value;
    return {
      metric,
      unit,
      told: reported.length,
      ...(example === undefined ? {} : { example }),
      absent,
    };
  });
}

const identity = new Set(["uuid", "gpu", "host"]);

/** Info metrics carry their content in labels, which would fill the screen: only their presence is shown. */
function formatSeriesName({ metric, labels }: DeviceReading): string {
  if (metric.kind === "info" || labelValue(labels, "peer") !== undefined) return metric.name;
  const own = labels.filter(([name]) => !identity.has(name));
  const inside = own.map(([name, value]) => `${name}="${value}"`).join(",");
  return inside === "" ? metric.name : `${metric.name}{${inside}}`;
}
