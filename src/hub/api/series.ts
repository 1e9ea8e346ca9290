/** `series`, `labels`, `label/NAME/values`, `metadata`. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { QueryError } from "../../query/errors.ts";
import { parseSelector } from "../../query/parse/parse.ts";
import type { Matcher } from "../../store/select.ts";
import type { ApiContext } from "./context.ts";
import { ApiFailure, badParameter } from "./failure.ts";
import { Params, wholeTime } from "./params.ts";
import { labelsJson, success } from "./result.ts";

const both = ["GET", "POST"];
const cutNote = "results truncated due to limit";

export function addSeries(app: FastifyInstance, { history, metadata }: ApiContext): void {
  app.route({
    method: both,
    url: "/api/v1/series",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const sets = matcherSets(params);
      if (sets.length === 0) throw new ApiFailure("bad_data", "no match[] parameter provided");
      const { startMs, endMs } = range(params);
      const found = await history.series(sets, startMs, endMs);
      return list(reply, found.map(labelsJson), params.limit());
    },
  });
  app.route({
    method: both,
    url: "/api/v1/labels",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const { startMs, endMs } = range(params);
      const names = await history.labelNames(matcherSets(params), startMs, endMs);
      return list(
        reply,
        names.map((name) => JSON.stringify(name)),
        params.limit(),
      );
    },
  });
  app.get<{ Params: { name: string } }>("/api/v1/label/:name/values", async (request, reply) => {
    const params = Params.of(request);
    const name = unescapeName(request.params.name);
    if (name === "") throw new ApiFailure("bad_data", `invalid label name: "${name}"`);
    const { startMs, endMs } = range(params);
    const values = await history.labelValues(name, matcherSets(params), startMs, endMs);
    return list(
      reply,
      values.map((value) => JSON.stringify(value)),
      params.limit(),
    );
  });
  app.get("/api/v1/metadata", async (request, reply) => {
    const params = Params.of(request);
    const found = metadata.list(params.text("metric"), params.limit());
    return reply.type("application/json").send(success(JSON.stringify(found)));
  });
}

export function matcherSets(params: Params): (readonly Matcher[])[] {
  return params.all("match[]").map((selector) => {
    const matchers = readSelector(selector);
    if (matchers.every(matchesEmpty))
      throw badParameter("match[]", "match[] must contain at least one non-empty matcher");
    return matchers;
  });
}

function readSelector(selector: string): readonly Matcher[] {
  try {
    return parseSelector(selector);
  } catch (thrown) {
    if (thrown instanceof QueryError) throw badParameter("match[]", thrown.message);
    throw thrown;
  }
}

const matchesEmpty = ({ op, value }: Matcher): boolean =>
  (op === "=" && value === "") ||
  (op === "!=" && value !== "") ||
  (op === "=~" && /^(\.\*)?$/.test(value));

export function range(params: Params): { startMs: number; endMs: number } {
  const startMs = params.timeMs("start", wholeTime.minTimeMs);
  const endMs = params.timeMs("end", wholeTime.maxTimeMs);
  if (endMs < startMs) throw badParameter("end", "end timestamp must not be before start time");
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

function list(reply: FastifyReply, items: readonly string[], limit: number): FastifyReply {
  const cut = limit > 0 && items.length > limit;
  const shown = cut ? items.slice(0, limit) : items;
  return reply
    .type("application/json")
    .send(success(`[${shown.join(",")}]`, { warnings: cut ? [cutNote] : [], infos: [] }));
}
