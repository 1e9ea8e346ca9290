/** Grafana's JSON of one panel, with the builders of its Foundation SDK: a field that Grafana does not have does not compile. */
import * as bargauge from "@grafana/grafana-foundation-sdk/bargauge";
import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import * as dashboard from "@grafana/grafana-foundation-sdk/dashboard";
import * as gauge from "@grafana/grafana-foundation-sdk/gauge";
import * as heatmap from "@grafana/grafana-foundation-sdk/heatmap";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import * as stat from "@grafana/grafana-foundation-sdk/stat";
import * as statetimeline from "@grafana/grafana-foundation-sdk/statetimeline";
import * as table from "@grafana/grafana-foundation-sdk/table";
import * as text from "@grafana/grafana-foundation-sdk/text";
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries";
import { type Board, type InfluxTarget, neutral, type Panel, type PromTarget } from "./shape.ts";

type Builder =
  | bargauge.PanelBuilder
  | gauge.PanelBuilder
  | heatmap.PanelBuilder
  | stat.PanelBuilder
  | statetimeline.PanelBuilder
  | table.PanelBuilder
  | text.PanelBuilder
  | timeseries.PanelBuilder;

export function renderPanel(
  panel: Panel,
  id: number,
  place: dashboard.GridPos,
  source: Board["source"],
): dashboard.Panel {
  const builder = ofKind(panel)
    .id(id)
    .title(panel.title)
    .gridPos(place)
    .targets(panel.targets.map((target, at) => query(panel, target, at)));
  if (panel.kind === "text") return builder.build();
  builder
    .datasource({ type: source, uid: "${datasource}" })
    .unit(panel.unit)
    .overrides([...dashed(panel), ...columnUnits(panel)]);
  const about = [panel.about, panel.needs && `Needs ${panel.needs}.`].filter(Boolean).join(" ");
  if (about !== "") builder.description(about);
  const [min, max] = panel.range ?? [];
  if (min !== undefined) builder.min(min);
  if (max !== undefined) builder.max(max);
  if (panel.decimals !== undefined) builder.decimals(panel.decimals);
  if (panel.words !== undefined) builder.mappings([valueWords(panel.words)]);
  if (panel.leadsTo !== undefined) builder.dataLinks([dataLink(panel)]);
  const steps = panel.steps ?? (asksForNow(panel) ? neutral : undefined);
  if (steps !== undefined)
    builder.thresholds(
      new dashboard.ThresholdsConfigBuilder()
        .mode(dashboard.ThresholdsMode.Absolute)
        .steps(steps.map(([value, color]) => ({ value, color }))),
    );
  return builder.build();
}

const lastValue = (): common.ReduceDataOptionsBuilder =>
  new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]).fields("").values(false);

const legend = (): common.VizLegendOptionsBuilder =>
  new common.VizLegendOptionsBuilder()
    .displayMode(common.LegendDisplayMode.List)
    .placement(common.LegendPlacement.Bottom)
    .showLegend(true);

const tooltip = (): common.VizTooltipOptionsBuilder =>
  new common.VizTooltipOptionsBuilder()
    .mode(common.TooltipDisplayMode.Multi)
    .sort(common.SortOrder.Descending);

function ofKind(panel: Panel): Builder {
  switch (panel.kind) {
    case "timeseries": {
      // A gap stays a gap: a line across it would show readings that do not exist.
      const lines = new timeseries.PanelBuilder()
        .drawStyle(common.GraphDrawStyle.Line)
        .spanNulls(false)
        .showPoints(common.VisibilityMode.Never)
        .legend(legend())
        .tooltip(tooltip());
      if (panel.stacked === true)
        lines
          .fillOpacity(30)
          .stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal).group("A"));
      return lines;
    }
    case "stat":
      return new stat.PanelBuilder()
        .reduceOptions(lastValue())
        .colorMode(common.BigValueColorMode.Value)
        .graphMode(common.BigValueGraphMode.None);
    case "gauge":
      return new gauge.PanelBuilder().reduceOptions(lastValue()).showThresholdMarkers(true);
    case "bargauge":
      return new bargauge.PanelBuilder()
        .reduceOptions(lastValue())
        .orientation(common.VizOrientation.Horizontal)
        .displayMode(common.BarGaugeDisplayMode.Gradient);
    case "table":
      return new table.PanelBuilder().showHeader(true).transformations(oneTable(panel));
    case "heatmap":
      return new heatmap.PanelBuilder()
        .calculate(false)
        .yAxis(new heatmap.YAxisConfigBuilder().unit(panel.unit));
    case "state-timeline":
      return new statetimeline.PanelBuilder()
        .showValue(common.VisibilityMode.Never)
        .mergeValues(true)
        .legend(legend())
        .tooltip(tooltip());
    case "text":
      return new text.PanelBuilder().mode(text.TextMode.Markdown).content(panel.about ?? "");
  }
}

const letter = (at: number): string => String.fromCharCode(65 + at);

function query(
  panel: Panel,
  target: PromTarget | InfluxTarget,
  at: number,
): cog.Builder<cog.Dataquery> {
  if (!("expr" in target)) return { build: () => influxQuery(target, letter(at)) };
  const built = new prometheus.DataqueryBuilder().expr(target.expr).refId(letter(at));
  if (panel.kind === "table")
    return built.instant().format(prometheus.PromQueryFormat.Table).legendFormat("__auto");
  if (panel.kind === "heatmap") built.format(prometheus.PromQueryFormat.Heatmap);
  // A graph queries the whole range, a number only the current value, which matters on a large fleet.
  if (asksForNow(panel)) built.instant();
  else built.range();
  return built.legendFormat(target.legend);
}

export const asksForNow = ({ kind }: Pick<Panel, "kind">): boolean =>
  kind === "stat" || kind === "gauge" || kind === "bargauge" || kind === "table";

/** The SDK has no builder for InfluxDB. */
function influxQuery({ query: asked, alias }: InfluxTarget, refId: string): cog.Dataquery {
  const raw =
    alias === undefined ? {} : { rawQuery: true, resultFormat: "time_series" as const, alias };
  return { refId, query: asked, ...raw, _implementsDataqueryVariant: () => undefined } as never;
}

const hiddenColumns = ["Time", "__name__", "uuid"];
const targetColumns = ["job", "instance"];

/** Joins rows with the same labels, with one column per query. */
function oneTable({ targets, showsTarget }: Panel): dashboard.DataTransformerConfig[] {
  const names = targets.map((target, at): [string, string] => [
    targets.length === 1 ? "Value" : `Value #${letter(at)}`,
    "legend" in target ? target.legend : "",
  ]);
  const hidden = [...hiddenColumns, ...(showsTarget === true ? [] : targetColumns)];
  const excludeByName = Object.fromEntries(hidden.map((name) => [name, true]));
  return [
    { id: "merge", options: {} },
    { id: "organize", options: { excludeByName, renameByName: Object.fromEntries(names) } },
  ];
}

type Override = dashboard.FieldConfigSource["overrides"][number];

function dashed({ targets, kind }: Panel): Override[] {
  if (kind !== "timeseries") return [];
  return targets.flatMap((target, at) =>
    "expr" in target && target.dashed === true
      ? [
          {
            matcher: { id: "byFrameRefID", options: letter(at) },
            properties: [
              { id: "custom.lineStyle", value: { fill: "dash", dash: [8, 8] } },
              { id: "custom.fillOpacity", value: 0 },
              { id: "custom.stacking", value: { mode: "none" } },
            ],
          },
        ]
      : [],
  );
}

function columnUnits({ targets, kind }: Panel): Override[] {
  return targets.flatMap((target, at) => {
    if (!("expr" in target) || target.unit === undefined) return [];
    const matcher =
      kind === "table"
        ? { id: "byName", options: target.legend }
        : { id: "byFrameRefID", options: letter(at) };
    return [{ matcher, properties: [{ id: "unit", value: target.unit }] }];
  });
}

function valueWords(words: NonNullable<Panel["words"]>): dashboard.ValueMap {
  const options = Object.fromEntries(
    Object.entries(words).map(([value, [says, color]], index) => [
      value,
      { text: says, color, index },
    ]),
  );
  return { type: dashboard.MappingType.ValueToText, options };
}

/** Written out, since the SDK's builder would put every link into a menu. */
export const link = (
  more: Partial<dashboard.DashboardLink>,
): cog.Builder<dashboard.DashboardLink> => ({
  build: () => ({
    title: "gpulse",
    type: dashboard.DashboardLinkType.Link,
    icon: "",
    tooltip: "",
    tags: [],
    asDropdown: false,
    targetBlank: false,
    includeVars: false,
    keepTime: false,
    ...more,
  }),
});

function dataLink({ kind, leadsTo }: Panel): cog.Builder<dashboard.DashboardLink> {
  const at = kind === "table" ? "__data.fields" : "__field.labels";
  const variables = (leadsTo?.labels ?? []).map((label) => `var-${label}=\${${at}.${label}}`);
  const url = `/d/${leadsTo?.uid}?\${datasource:queryparam}&${variables.join("&")}&\${__url_time_range}`;
  return link({ title: "Look closer", url });
}
