/** The tool that shows the readings of GPUs, sorted by one of them. */
import * as v from "valibot";
import { parseDurationMs } from "../../config/duration.ts";
import { statisticQuery } from "../range-statistics.ts";
import { type Cell, name, number, pageOf } from "./answer.ts";
import { byPlace, idOf, indexCell, ownersBy } from "./devices.ts";
import { deviceMatchers, gpuArguments, restrictTo, unknownSubjectNote } from "./gpu-selector.ts";
import { queryInstant, rerunPromql, seriesLimit } from "./hub-reader.ts";
import { defineTool, oneOf, paging, text, timeHint, timeOf } from "./tool.ts";

const byDevice = "by (uuid, gpu, host)";

interface StateColumn {
  readonly key: string;
  readonly title: string;
  readonly unit: string;
  readonly digits: number;
  readonly metric: string;
  /** Labels of the column's metric. */
  readonly labels?: readonly string[];
  readonly scale?: string;
}

const stateColumns = [
  {
    key: "utilization",
    title: "UTILIZATION",
    unit: "%",
    digits: 0,
    metric: "gpu_utilization_ratio",
    scale: " * 100",
  },
  {
    key: "memory",
    title: "MEMORY",
    unit: "GiB",
    digits: 1,
    metric: "gpu_memory_used_bytes",
    scale: " / 1073741824",
  },
  { key: "power", title: "POWER", unit: "W", digits: 0, metric: "gpu_power_watts" },
  {
    key: "power_limit",
    title: "POWER LIMIT",
    unit: "W",
    digits: 0,
    metric: "gpu_power_limit_watts",
  },
  {
    key: "temperature",
    title: "TEMPERATURE",
    unit: "°C",
    digits: 0,
    metric: "gpu_temperature_celsius",
  },
  {
    key: "clock",
    title: "CLOCK",
    unit: "MHz",
    digits: 0,
    metric: "gpu_clock_hertz",
    labels: ['domain=~"sm|graphics"'],
    scale: " / 1e6",
  },
] as const satisfies readonly StateColumn[];

const stateInput = v.strictObject({
  ...gpuArguments,
  sort: oneOf(
    "The reading to sort by.",
    stateColumns.map(({ key }) => key),
    "utilization",
  ),
  order: oneOf("Highest or lowest first.", ["highest", "lowest"], "highest"),
  window: v.optional(
    v.pipe(
      v.string("a duration such as 1h"),
      v.regex(/^\d{1,4}(?:s|m|h|d)$/, "a duration such as 5m, 1h or 7d"),
      v.description("Average over this long instead of the newest reading, such as 1h."),
    ),
  ),
  time: text(`When (default: now): ${timeHint}.`),
  ...paging,
});

export const currentState = defineTool({
  name: "current_state",
  title: "State of GPUs",
  description:
    "Utilization, memory, power, temperature, clock, active throttle reasons and owner of GPUs, sorted by one of the readings: hottest, idlest, most power. Chooses by GPU, host, model or owner; now, at a past time, or averaged over a window.",
  input: stateInput,
  example: { sort: "temperature", limit: 5 },
  run: async (input, context) => {
    const timeMs =
      input.time === undefined ? context.nowMs : timeOf("time", input.time, context.nowMs);
    const at = { ...context, nowMs: timeMs };
    const expressionOf = (column: StateColumn): string => {
      const series = `${column.metric}${deviceMatchers(input, column.labels)}`;
      const windowMs = input.window === undefined ? undefined : parseDurationMs(input.window);
      const read = windowMs === undefined ? series : statisticQuery("avg", series, windowMs);
      return `max ${byDevice} (${read}${restrictTo(input)})${column.scale ?? ""}`;
    };
    const sorting = stateColumns.find(({ key }) => key === input.sort) ?? stateColumns[0];
    const sorted = expressionOf(sorting);
    const pick = input.order === "highest" ? "topk" : "bottomk";
    const chosen = `${pick}(${Math.min(input.offset + input.limit, seriesLimit)}, ${sorted})`;
    const ranked = [...(await queryInstant(at.hub, chosen, timeMs))].sort(
      (a, b) =>
        (input.order === "highest" ? b.value - a.value : a.value - b.value) || byPlace(a, b),
    );
    const [reporting] = await queryInstant(at.hub, `count(${sorted})`, timeMs);
    const known = `count(gpu_info${deviceMatchers(input)}${restrictTo(input)})`;
    const [all] = await queryInstant(at.hub, known, timeMs);
    const shown = ranked.slice(input.offset, input.offset + input.limit);
    const among = (promql: string): string => `${promql} and on (uuid, host) ${chosen}`;
    const columns = new Map<StateColumn, ReadonlyMap<string, number>>();
    for (const column of stateColumns) {
      const samples =
        column === sorting
          ? ranked
          : await queryInstant(at.hub, among(expressionOf(column)), timeMs);
      columns.set(column, new Map(samples.map(({ labels, value }) => [idOf(labels), value])));
    }
    const throttled = `gpu_throttle_active${deviceMatchers(input)} == 1`;
    const reasons = new Map<string, string>();
    for (const { labels } of await queryInstant(at.hub, among(`(${throttled})`), timeMs)) {
      const before = reasons.get(idOf(labels));
      const reason = labels["reason"] ?? "";
      reasons.set(idOf(labels), before === undefined ? reason : `${before}, ${reason}`);
    }
    const owners = await ownersBy(among(`gpu_owner_info${deviceMatchers(input)}`), at);
    const total = reporting?.value ?? 0;
    const silent = (all?.value ?? total) - total;
    const only = shown.length === 1 ? shown[0]?.labels["uuid"] : undefined;
    return {
      summary: `${total} GPU${total === 1 ? "" : "s"}, ${input.order} ${sorting.title.toLowerCase()} first${input.window === undefined ? "" : `, averages over ${input.window}`}, at ${new Date(timeMs).toISOString()}.`,
      columns: [
        { title: "UUID" },
        { title: "HOST" },
        { title: "GPU" },
        ...stateColumns.map(({ title, unit }) => ({ title, unit })),
        { title: "THROTTLED BY" },
        { title: "OWNER" },
      ],
      rows: shown.map(({ labels }) => [
        name(labels["uuid"], 100),
        name(labels["host"]),
        indexCell(labels["gpu"]),
        ...stateColumns.map((column): Cell =>
          number(columns.get(column)?.get(idOf(labels)), column.digits),
        ),
        name(reasons.get(idOf(labels))),
        name(owners.get(idOf(labels))),
      ]),
      offset: input.offset,
      total,
      notes:
        silent > 0
          ? [`${silent} more GPU${silent === 1 ? " does" : "s do"} not report ${sorting.metric}.`]
          : total === 0
            ? unknownSubjectNote(input)
            : [],
      rerun: [
        ...stateColumns.map((column) => rerunPromql(expressionOf(column), column.title)),
        rerunPromql(throttled, "THROTTLED BY"),
      ],
      page: only === undefined ? pageOf("fleet", { q: input.host }) : pageOf("gpu", { uuid: only }),
    };
  },
});
