/** Plain JSON in, on `/push`: for scripts that have no client library. What is good is kept, what is bad is named by place and field. */
import type { FastifyInstance } from "fastify";
import type { Log } from "../../base/log.ts";
import { maxJsonBytes } from "./body.ts";
import { malformed } from "./failure.ts";
import type { Intake } from "./intake.ts";
import { isAtSeriesLimit, seriesLimitRetrySeconds, formatRejected } from "./rejected-samples.ts";
import { addReceiver } from "./receiver.ts";

export async function addJsonPush(app: FastifyInstance, intake: Intake, log: Log): Promise<void> {
  await addReceiver(app, {
    way: "json",
    intake,
    log,
    tell: ({ message }, _request, reply) => reply.send({ error: message }),
    routes: (scope, bodies) => {
      scope.post("/push", async (request, reply) => {
        const body = await bodies.plain(request, maxJsonBytes);
        if (body.length === 0)
          throw malformed('the body is empty: send {"metrics": [{"name": "…", "value": 1}]}');
        const hold = bodies.holdOf(request);
        const { batch, bad, badCount } = await intake.decoder.decode(
          "json",
          body,
          { nowMs: intake.nowMs() },
          hold,
        );
        const kept = await intake.keep("json", batch, hold.client);
        intake.received.add("json", "malformed", badCount);
        const refused = formatRejected(kept.samples, kept.refused);
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
        if (isAtSeriesLimit(kept)) reply.header("retry-after", seriesLimitRetrySeconds);
        return reply
          .code(isAtSeriesLimit(kept) ? 429 : 400)
          .send({ error, kept: kept.samples, malformed: badCount, errors: bad });
      });
    },
  });
}
