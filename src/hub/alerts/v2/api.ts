/** Alertmanager's API, version 2, for amtool and Prometheus. */
import type { FastifyInstance } from "fastify";
import { formatError } from "../../../base/error.ts";
import { addAlerts } from "./alerts.ts";
import type { V2Context } from "./context.ts";
import { maxAlertOpenings } from "../../limits/alert-quota.ts";
import { countOpenings } from "../../limits/json-size.ts";
import { tooMany, unreadable, AlertmanagerApiError, unsupportedMediaType } from "./failure.ts";
import { addSilences } from "./silences.ts";
import { addStatusRoutes } from "./status.ts";
import { noStore } from "../../reply.ts";

/** A separate Fastify plugin, so that only its own errors and bodies have Alertmanager's format. */
export async function addAlertmanagerApi(app: FastifyInstance, context: V2Context): Promise<void> {
  await app.register(async (api) => {
    api.removeAllContentTypeParsers();
    api.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
      const what = request.url.includes("/silence") ? "silence" : "alerts";
      const bytes = Buffer.from(body);
      if (countOpenings(bytes, maxAlertOpenings) > maxAlertOpenings) {
        const sentence = `the request has more than ${maxAlertOpenings} objects and lists: send fewer alerts at a time`;
        return done(tooMany(413, sentence), undefined);
      }
      try {
        done(null, bytes.length === 0 ? undefined : JSON.parse(bytes.toString("utf8")));
      } catch (thrown) {
        done(unreadable(what, formatError(thrown)), undefined);
      }
    });
    api.addContentTypeParser("*", (request, _payload, done) =>
      done(unsupportedMediaType(request.headers["content-type"] ?? ""), undefined),
    );
    api.addHook("onRequest", async (_request, reply) => {
      noStore(reply);
    });
    api.setErrorHandler(async (thrown, request, reply) => {
      if (thrown instanceof AlertmanagerApiError && thrown.retryAfterSeconds !== undefined)
        reply.header("retry-after", thrown.retryAfterSeconds);
      if (thrown instanceof AlertmanagerApiError)
        return reply
          .code(thrown.status)
          .type("application/json")
          .send(`${JSON.stringify(thrown.body)}\n`);
      const given =
        thrown instanceof Error && "statusCode" in thrown ? Number(thrown.statusCode) : 500;
      const code = given >= 400 && given < 500 ? given : 500;
      if (code === 500)
        context.log.error("alert API request failed", {
          path: request.url.slice(0, 200),
          error: formatError(thrown),
        });
      const message =
        code === 413
          ? "the request is too large"
          : code < 500
            ? formatError(thrown)
            : "gpulse failed to handle this request: see its log";
      return reply.code(code).type("application/json").send({ code, message });
    });
    addStatusRoutes(api, context);
    addAlerts(api, context);
    addSilences(api, context);
  });
}
