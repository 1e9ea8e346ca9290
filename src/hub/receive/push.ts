/** Receiver for plain JSON on `/push`, for scripts without a client library. Valid entries are stored; errors name the entry and field. */
import type { FastifyInstance } from "fastify";
import type { Log } from "../../base/log.ts";
import { maxJsonBytes } from "./body.ts";
import { malformed } from "./failure.ts";
import type { Intake } from "./intake.ts";
import { isAtSeriesLimit, seriesLimitRetrySeconds, formatRejected } from "./rejected-samples.ts";
import { addReceiver } from "./receiver.ts";

export async function addJsonPush(app: FastifyInstance, intake: Intake, log: Log): Promise<void> {
  await addReceiver(app, {
    receiver: "json",
    intake,
    log,
    sendError: ({ message }, _request, reply) => reply.send({ error: message }),
    routes: (scope, bodies) => {
      scope.post("/push", async (request, reply) => {
        const body = await bodies.plain(request, maxJsonBytes);
        if (body.length === 0)
          throw malformed('the body is empty: send {"metrics": [{"name": "…", "value": 1}]}');
        const hold = bodies.holdOf(request);
        const { bad, badCount, stored } = await intake.decoder.decode(
          "json",
          body,
          { nowMs: intake.nowMs() },
          hold,
          async ({ batch, ...rest }) => ({
            ...rest,
            stored: await intake.store("json", batch, hold.client),
          }),
        );
        intake.received.add("json", "malformed", badCount);
        const refused = formatRejected(stored.samples, stored.refused);
        if (badCount === 0 && refused === undefined) return reply.code(204).send();
        const first = bad[0];
        const error = [
          first === undefined
            ? undefined
            : `${first.at === "" ? "the entry" : first.at} ${first.error}`,
          refused,
        ]
          .filter((part) => part !== undefined)
          .join("; ");
        if (isAtSeriesLimit(stored)) reply.header("retry-after", seriesLimitRetrySeconds);
        return reply
          .code(isAtSeriesLimit(stored) ? 429 : 400)
          .send({ error, kept: stored.samples, malformed: badCount, errors: bad });
      });
    },
  });
}
