/** Reads from a hub for tools: over HTTP from the command line, inside the hub for MCP. Read-only; each response is validated. */
import * as v from "valibot";
import { GpulseError } from "../../base/error.ts";
import { encodeParameter, type Rerun } from "./answer.ts";
import { quoteText } from "./quote.ts";

export interface HubReply {
  readonly status: number;
  readonly body: unknown;
}

export interface HubReader {
  /** Address of the hub in a browser. */
  readonly url: string;
  get(route: string): Promise<HubReply>;
}

type Parameters = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** The path with its parameters; a list becomes one parameter per value. */
export function routeOf(path: string, parameters: Parameters = {}): string {
  const query = Object.entries(parameters).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [value].flat().map((one) => `${encodeParameter(key)}=${encodeParameter(String(one))}`),
  );
  return query.length === 0 ? path : `${path}?${query.join("&")}`;
}

/** @throws GpulseError with the hub's own sentence if it rejects the request */
export async function readRoute<Schema extends v.GenericSchema>(
  hub: HubReader,
  route: string,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const { status, body } = await hub.get(route);
  if (status !== 200) throw refusal(status, body, route);
  const parsed = v.safeParse(schema, body);
  if (!parsed.success)
    throw new GpulseError(
      "QUERY_FAILED",
      `The response to ${route.split("?", 1)[0] ?? ""} is not that of a gpulse hub of this version: update the hub.`,
    );
  return parsed.output;
}

/** Returns undefined if the hub does not have the route. */
export async function readOptionalRoute<Schema extends v.GenericSchema>(
  hub: HubReader,
  route: string,
  schema: Schema,
): Promise<v.InferOutput<Schema> | undefined> {
  try {
    return await readRoute(hub, route, schema);
  } catch (thrown) {
    if (thrown instanceof NoRouteError) return undefined;
    throw thrown;
  }
}

class NoRouteError extends GpulseError {}

function refusal(status: number, body: unknown, route: string): GpulseError {
  const parsed = v.safeParse(v.object({ error: v.string() }), body);
  const said = parsed.success ? parsed.output.error : `status ${status}`;
  const path = route.split("?", 1)[0] ?? "";
  if (status === 404 && said.startsWith("There is nothing at"))
    return new NoRouteError("QUERY_FAILED", `This hub does not serve ${path}.`);
  // The message may repeat external text.
  return new GpulseError("QUERY_FAILED", `The hub refused ${path}: ${quoteText(said, 400)}.`);
}

const labels = v.record(v.string(), v.string());
const point = v.tuple([v.number(), v.string()]);
const histogramPoint = v.tuple([v.number(), v.object({ count: v.string(), sum: v.string() })]);
const response = <Data extends v.GenericSchema>(data: Data) =>
  v.object({ data, warnings: v.optional(v.array(v.string()), []) });

const instantSchema = response(
  v.variant("resultType", [
    v.object({
      resultType: v.literal("vector"),
      result: v.array(
        v.object({
          metric: labels,
          value: v.optional(point),
          histogram: v.optional(histogramPoint),
        }),
      ),
    }),
    v.object({ resultType: v.picklist(["scalar", "string"]), result: point }),
    v.object({ resultType: v.literal("matrix"), result: v.array(v.unknown()) }),
  ]),
);

const rangeSchema = response(
  v.object({
    resultType: v.literal("matrix"),
    result: v.array(v.object({ metric: labels, values: v.optional(v.array(point), []) })),
  }),
);

export interface ToolSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Most series that one query may return to a tool. */
export const seriesLimit = 1_000;
const queryTimeout = "15s";

/** @throws GpulseError if the expression is invalid or does not return a vector or a number */
export async function queryInstant(
  hub: HubReader,
  promql: string,
  timeMs: number,
): Promise<readonly ToolSample[]> {
  const route = routeOf("/api/v1/query", {
    query: promql,
    time: timeMs / 1_000,
    limit: seriesLimit,
    timeout: queryTimeout,
  });
  const { data } = await readRoute(hub, route, instantSchema);
  if (data.resultType === "vector")
    return data.result.map(({ metric, value, histogram }) => ({
      labels: metric,
      value: toNumber(value?.[1] ?? histogram?.[1].count ?? "NaN"),
    }));
  if (data.resultType === "matrix")
    throw new GpulseError(
      "QUERY_INVALID",
      "This expression returns a range of samples: wrap it in a function such as avg_over_time(), or pass since.",
    );
  return [{ labels: {}, value: toNumber(data.result[1]) }];
}

export interface RangeSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly values: readonly (readonly [seconds: number, value: number])[];
}

export async function queryRange(
  hub: HubReader,
  promql: string,
  range: { readonly fromMs: number; readonly toMs: number; readonly stepMs: number },
): Promise<readonly RangeSeries[]> {
  const route = routeOf("/api/v1/query_range", {
    query: promql,
    start: range.fromMs / 1_000,
    end: range.toMs / 1_000,
    step: range.stepMs / 1_000,
    limit: seriesLimit,
    timeout: queryTimeout,
  });
  const { data } = await readRoute(hub, route, rangeSchema);
  return data.result.map(({ metric, values }) => ({
    labels: metric,
    values: values.map(([seconds, value]) => [seconds, toNumber(value)] as const),
  }));
}

export const rerunPromql = (promql: string, of?: string): Rerun =>
  of === undefined ? { promql } : { promql, of };

const toNumber = (value: string): number =>
  value === "+Inf" ? Infinity : value === "-Inf" ? -Infinity : Number(value);
