/** A strict schema of the parts of Grafana's dashboard model that we write: an unknown panel type or key is rejected. */
import * as v from "valibot";
import { panelKinds } from "./shape.ts";

const text = v.pipe(v.string(), v.minLength(1));
const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

/** Always a variable: a fixed data source would not exist in the user's Grafana. */
const dataSource = v.strictObject({
  type: v.picklist(["prometheus", "influxdb"]),
  uid: v.literal("${datasource}"),
});

const link = v.strictObject({
  title: text,
  type: v.picklist(["link", "dashboards"]),
  icon: v.string(),
  tooltip: v.string(),
  url: v.optional(text),
  tags: v.array(text),
  asDropdown: v.boolean(),
  targetBlank: v.boolean(),
  includeVars: v.boolean(),
  keepTime: v.boolean(),
});

const variable = v.strictObject({
  type: v.picklist(["datasource", "query", "textbox"]),
  name: v.pipe(v.string(), v.regex(/^[a-z_]+$/)),
  label: text,
  query: text,
  datasource: v.optional(dataSource),
  regex: v.optional(text),
  refresh: v.optional(v.literal(2)),
  sort: v.optional(whole),
  allValue: v.optional(v.literal(".*")),
  current: v.optional(v.strictObject({ text: v.literal("All"), value: v.literal("$__all") })),
  multi: v.boolean(),
  includeAll: v.boolean(),
  allowCustomValue: v.boolean(),
  skipUrlSync: v.boolean(),
  auto: v.boolean(),
  auto_min: text,
  auto_count: whole,
});

const gridPos = v.strictObject({
  h: whole,
  w: v.pipe(whole, v.minValue(1), v.maxValue(24)),
  x: v.pipe(whole, v.maxValue(23)),
  y: whole,
});

const target = v.union([
  v.strictObject({
    refId: v.pipe(v.string(), v.regex(/^[A-Z]$/)),
    expr: text,
    legendFormat: text,
    instant: v.boolean(),
    range: v.boolean(),
    format: v.optional(v.picklist(["table", "heatmap"])),
  }),
  v.strictObject({
    refId: v.pipe(v.string(), v.regex(/^[A-Z]$/)),
    query: text,
    rawQuery: v.optional(v.literal(true)),
    resultFormat: v.optional(v.literal("time_series")),
    alias: v.optional(text),
  }),
]);

const defaults = v.strictObject({
  unit: text,
  min: v.optional(v.number()),
  max: v.optional(v.number()),
  decimals: v.optional(whole),
  custom: v.optional(v.record(v.string(), v.unknown())),
  mappings: v.optional(v.array(v.strictObject({ type: v.literal("value"), options: v.unknown() }))),
  links: v.optional(v.array(link)),
  thresholds: v.optional(
    v.strictObject({
      mode: v.literal("absolute"),
      steps: v.array(v.strictObject({ value: v.nullable(v.number()), color: text })),
    }),
  ),
});

const override = v.strictObject({
  matcher: v.strictObject({ id: v.picklist(["byName", "byFrameRefID"]), options: text }),
  properties: v.array(v.strictObject({ id: text, value: v.unknown() })),
});

const panel = v.strictObject({
  id: v.pipe(whole, v.minValue(1)),
  type: v.picklist(panelKinds),
  title: text,
  description: text,
  datasource: dataSource,
  gridPos,
  targets: v.pipe(v.array(target), v.minLength(1)),
  transparent: v.boolean(),
  repeatDirection: v.literal("h"),
  options: v.record(v.string(), v.unknown()),
  fieldConfig: v.strictObject({ defaults, overrides: v.array(override) }),
  transformations: v.optional(
    v.array(v.strictObject({ id: v.picklist(["merge", "organize"]), options: v.unknown() })),
  ),
});

const row = v.strictObject({
  id: v.pipe(whole, v.minValue(1)),
  type: v.literal("row"),
  title: text,
  collapsed: v.boolean(),
  gridPos,
  panels: v.tuple([]),
});

export const dashboardSchema = v.strictObject({
  uid: v.pipe(v.string(), v.regex(/^gpulse-[a-z-]+$/), v.maxLength(40)),
  title: text,
  description: text,
  tags: v.pipe(v.array(text), v.includes("gpulse")),
  timezone: v.literal("browser"),
  editable: v.boolean(),
  graphTooltip: v.literal(1),
  fiscalYearStartMonth: v.literal(0),
  schemaVersion: whole,
  refresh: v.literal("30s"),
  time: v.strictObject({ from: v.literal("now-1h"), to: v.literal("now") }),
  annotations: v.strictObject({}),
  templating: v.strictObject({ list: v.array(variable) }),
  links: v.array(link),
  panels: v.array(v.variant("type", [panel, row])),
});

export type DashboardJson = v.InferOutput<typeof dashboardSchema>;
