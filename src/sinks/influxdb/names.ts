/** The measurement and field of a series: our own names, or those of the GPU-Z project's dashboards. */
import { aliases } from "../../model/aliases.ts";
import { columnOf } from "../../model/columns.ts";
import { gpu, gpuz } from "../../model/catalogue/index.ts";
import { labelValue } from "../../model/labels.ts";
import type { Series } from "../../model/layout.ts";

export const presets = ["gpulse", "gpuz"] as const;
export type Preset = (typeof presets)[number];

export interface InfluxNaming {
  readonly preset: Preset;
  /** Measurement of every line; undefined for the preset's own. */
  readonly measurement: string | undefined;
  /** Maps the preset's field names to other names. */
  readonly fields: Readonly<Record<string, string>>;
}

export interface InfluxField {
  readonly measurement: string;
  readonly field: string;
  readonly scale: number;
  /** True if the series' labels are part of the field name, so that the tags only identify the GPU. */
  readonly isColumn: boolean;
}

export const gpuzMeasurement = "gpu_metrics";

const byColumn = new Map(aliases.map((alias) => [alias.column, alias]));

/** Returns undefined if the preset has no field for the series. */
export function resolveInfluxField(series: Series, naming: InfluxNaming): InfluxField | undefined {
  const place = naming.preset === "gpuz" ? gpuzPlace(series) : ownPlace(series);
  if (place === undefined) return undefined;
  return {
    ...place,
    measurement: naming.measurement ?? place.measurement,
    field: naming.fields[place.field] ?? place.field,
  };
}

function ownPlace(series: Series): InfluxField {
  const { metric, suffix } = series;
  const column = columnOf(series);
  const group = metric.subject === "device" ? "gpu" : (metric.name.split("_")[0] ?? metric.name);
  return {
    measurement: group,
    field: column ?? metric.name + suffix,
    scale: 1,
    isColumn: column !== undefined,
  };
}

/** One line per GPU and timestamp: series that would need further tags have no field, except for GPU-Z's own sensors. */
function gpuzPlace(series: Series): InfluxField | undefined {
  const { metric, labels } = series;
  const place = { measurement: gpuzMeasurement, scale: 1, isColumn: true };
  if (metric === gpu.info || metric === gpu.up) return undefined;
  if (metric === gpuz.sensorValue) {
    const field = slug(labelValue(labels, "sensor") ?? "");
    return field === "" ? undefined : { ...place, field };
  }
  const column = columnOf(series);
  if (column === undefined) return undefined;
  const alias = byColumn.get(column);
  return alias === undefined
    ? { ...place, field: column }
    : { ...place, field: alias.name, scale: alias.scale };
}

/** Turns `VDDC Current #2` into `vddc_current_2`. */
function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_|_$/g, "");
}
