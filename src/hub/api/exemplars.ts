/** `query_exemplars`: the exemplars of every series that an expression selects. */
import type { FastifyInstance } from "fastify";
import { formatValue } from "../../formats/prometheus/page.ts";
import { fullTimeRange } from "../../config/time.ts";
import type { ExemplarStore, SeriesExemplars } from "../../storage/exemplars/exemplar-store.ts";
import { selectorsIn } from "../../query/ast.ts";
import { parse } from "../../query/parse/parse.ts";
import { formatSeconds, labelsJson } from "../../query/response.ts";
import { streamParts } from "../stream-parts.ts";
import { PrometheusApiError } from "./failure.ts";
import { Params } from "./params.ts";
import { success } from "./result.ts";

export function addExemplars(app: FastifyInstance, store: ExemplarStore | undefined): void {
  app.route({
    method: ["GET", "POST"],
    url: "/api/v1/query_exemplars",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const startMs = params.timeMs("start", fullTimeRange.minTimeMs);
      const endMs = params.timeMs("end", fullTimeRange.maxTimeMs);
      if (endMs < startMs)
        throw new PrometheusApiError(
          "bad_data",
          "end timestamp must not be before start timestamp",
        );
      const selectors = selectorsIn(parse(params.text("query") ?? ""));
      const sets = selectors.map(({ matchers }) => matchers);
      const found = sets.length === 0 ? [] : (store?.select(sets, startMs, endMs) ?? []);
      return reply
        .type("application/json")
        .header("cache-control", "no-store")
        .send(streamParts(responseParts(found)));
    },
  });
}

/** One part per series: 100,000 exemplars are about 15 MB. */
function* responseParts(found: readonly SeriesExemplars[]): Generator<string, void> {
  const [before = "", after = ""] = success("\n").split("\n");
  yield `${before}[`;
  let comma = "";
  for (const { labels, exemplars } of found) {
    const list = exemplars.map(
      (one) =>
        `{"labels":${labelsJson(one.labels)},"value":"${formatValue(one.value)}","timestamp":${formatSeconds(one.timeMs)}}`,
    );
    yield `${comma}{"seriesLabels":${labelsJson(labels)},"exemplars":[${list.join(",")}]}`;
    comma = ",";
  }
  yield `]${after}`;
}
