/** The Prometheus API of the hub: its routes and error handling. */
import type { FastifyInstance } from "fastify";
import { formatError } from "../../base/error.ts";
import { QueryError, QueryShedError } from "../../query/errors.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import { AlertQuota } from "../limits/alert-quota.ts";
import { addAgentList } from "../agents/routes.ts";
import { addAdmin } from "./admin.ts";
import type { ApiContext } from "./context.ts";
import { PrometheusApiError } from "./failure.ts";
import { acceptForms } from "./params.ts";
import { addExemplars } from "./exemplars.ts";
import { addFederate } from "./federate.ts";
import { addQueries } from "./queries.ts";
import { addSeries } from "./series.ts";
import { addStatus } from "./status.ts";
import { addTargets } from "./targets.ts";
import { addAlertApis } from "../alerts/apis.ts";
import { addBacktest } from "../alerts/backtest-api.ts";
import { addRules } from "../alerts/rules-api.ts";
import { addAlertSummary } from "../alerts/summary.ts";
import { addReceivers } from "../receive/receivers.ts";

const shedRetrySeconds = 5;

/** Registered as a separate Fastify plugin, so that only its own errors have Prometheus's format. */
export async function addApi(
  app: FastifyInstance,
  context: ApiContext,
  quota = new AlertQuota(),
): Promise<void> {
  await app.register(async (api) => {
    acceptForms(api);
    api.setErrorHandler(async (thrown, request, reply) => {
      const failure = failureOf(thrown);
      if (failure.type === "internal")
        context.log.error("api request failed", {
          path: request.url.slice(0, 200),
          error: formatError(thrown),
        });
      if (thrown instanceof QueryShedError) {
        context.shedding?.shed("queries");
        reply.header("retry-after", shedRetrySeconds);
      }
      return reply
        .code(failure.status)
        .type("application/json")
        .header("cache-control", "no-store")
        .send(failure.body);
    });
    addQueries(api, context);
    addSeries(api, context);
    addExemplars(api, context.exemplars);
    addStatus(api, context);
    addTargets(api, context.scraping, context.hostName ?? "localhost");
    addRules(api, context.alerting);
    addBacktest(api, context);
    addAdmin(api, context);
    addFederate(api, context);
    await addReceivers(api, context);
    if (context.agents !== undefined) addAgentList(api, context.agents);
  });
  if (context.alerting !== undefined) {
    await addAlertApis(app, context.alerting.sink, context, quota);
    addAlertSummary(app, context.alerting, context.nowMs);
  }
}

function failureOf(thrown: unknown): PrometheusApiError {
  if (thrown instanceof PrometheusApiError) return thrown;
  if (thrown instanceof QueryShedError && thrown.reason === "share")
    return new PrometheusApiError("unavailable", thrown.message, 429);
  if (thrown instanceof QueryError)
    return new PrometheusApiError(
      thrown.kind,
      thrown.kind === "bad_data" ? `invalid parameter "query": ${thrown.message}` : thrown.message,
    );
  if (thrown instanceof StoreError)
    return new PrometheusApiError(
      thrown.kind === "matcher" ? "bad_data" : thrown.retryable ? "unavailable" : "internal",
      thrown.message,
    );
  const refused = refusedStatus(thrown);
  if (refused === undefined) return new PrometheusApiError("internal", formatError(thrown));
  const message = refused === 413 ? "the request is too large" : formatError(thrown);
  return new PrometheusApiError("bad_data", message, refused);
}

/** Status of an error raised by Fastify itself: invalid JSON, an unsupported content type, a body over the limit. */
function refusedStatus(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error && "statusCode" in thrown)) return undefined;
  const { statusCode } = thrown;
  return typeof statusCode === "number" && statusCode >= 400 && statusCode < 500
    ? statusCode
    : undefined;
}
