/** `series`, `labels`, `label/NAME/values`, `metadata`. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Matcher } from "../../model/select.ts";
import { streamParts } from "../stream-parts.ts";
import { labelsJson } from "../../query/response.ts";
import type { ApiContext } from "./context.ts";
import { PrometheusApiError, invalidParameter } from "./failure.ts";
import { Params, parseSelectorParam } from "./params.ts";
import { fullTimeRange } from "../../config/time.ts";
import { reserveFor } from "./reserve.ts";
import { success } from "./result.ts";

const both = ["GET", "POST"];
/** Takes a millisecond or two to build. */
const partLetters = 256 * 1024;
const cutNote = "results truncated due to limit";

export function addSeries(app: FastifyInstance, context: ApiContext): void {
  const { history, metadata } = context;
  app.route({
    method: both,
    url: "/api/v1/series",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const sets = matcherSets(params);
      if (sets.length === 0)
        throw new PrometheusApiError("bad_data", "no match[] parameter provided");
      const { startMs, endMs } = parseTimeRange(params);
      const found = await history.series(sets, startMs, endMs, reserveFor(context, request, reply));
      return list(reply, found, labelsJson, params.limit());
    },
  });
  app.route({
    method: both,
    url: "/api/v1/labels",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const { startMs, endMs } = parseTimeRange(params);
      const names = await history.labelNames(matcherSets(params), startMs, endMs);
      return list(reply, names, (name) => JSON.stringify(name), params.limit());
    },
  });
  app.get<{ Params: { name: string } }>("/api/v1/label/:name/values", async (request, reply) => {
    const params = Params.of(request);
    const name = unescapeName(request.params.name);
    if (name === "") throw new PrometheusApiError("bad_data", `invalid label name: "${name}"`);
    const { startMs, endMs } = parseTimeRange(params);
    const budget = reserveFor(context, request, reply);
    const values = await history.labelValues(name, matcherSets(params), startMs, endMs, budget);
    return list(reply, values, (value) => JSON.stringify(value), params.limit());
  });
  app.get("/api/v1/metadata", async (request, reply) => {
    const params = Params.of(request);
    const found = metadata.list(params.text("metric"), params.limit());
    return reply.type("application/json").send(success(JSON.stringify(found)));
  });
}

export function matcherSets(params: Params): (readonly Matcher[])[] {
  return params.all("match[]").map((selector) => {
    const matchers = parseSelectorParam("match[]", selector);
    if (matchers.every(matchesEmpty))
      throw invalidParameter("match[]", "match[] must contain at least one non-empty matcher");
    return matchers;
  });
}

const matchesEmpty = ({ op, value }: Matcher): boolean =>
  (op === "=" && value === "") ||
  (op === "!=" && value !== "") ||
  (op === "=~" && /^(\.\*)?$/.test(value));

export function parseTimeRange(params: Params): { startMs: number; endMs: number } {
  const startMs = params.timeMs("start", fullTimeRange.minTimeMs);
  const endMs = params.timeMs("end", fullTimeRange.maxTimeMs);
  if (endMs < startMs) throw invalidParameter("end", "end timestamp must not be before start time");
  return { startMs, endMs };
}

/** `U__` names carry UTF-8 through a path: `_2e_` is a dot, `__` an underscore. */
function unescapeName(name: string): string {
  if (!name.startsWith("U__")) return name;
  return name
    .slice(3)
    .replace(/__|_([0-9a-fA-F]{1,6})_/g, (whole, hex: string | undefined) =>
      hex === undefined ? "_" : codePoint(hex, whole),
    );
}

function codePoint(hex: string, otherwise: string): string {
  const code = Number.parseInt(hex, 16);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : otherwise;
}

function list<Item>(
  reply: FastifyReply,
  items: readonly Item[],
  json: (item: Item) => string,
  limit: number,
): FastifyReply {
  const isCut = limit > 0 && items.length > limit;
  const listed = isCut ? items.slice(0, limit) : items;
  return reply.type("application/json").send(streamParts(listParts(listed, json, isCut)));
}

function* listParts<Item>(
  items: readonly Item[],
  json: (item: Item) => string,
  isCut: boolean,
): Generator<string, void> {
  const [before = "", after = ""] = success("\n", {
    warnings: isCut ? [cutNote] : [],
    infos: [],
  }).split("\n");
  let part = `${before}[`;
  for (let at = 0; at < items.length; at++) {
    const item = items[at];
    if (item !== undefined) part += `${at === 0 ? "" : ","}${json(item)}`;
    if (part.length < partLetters) continue;
    yield part;
    part = "";
  }
  yield `${part}]${after}`;
}
