/** `/api/alerts/deliveries` and `/api/alerts/test`: the delivery log of notifications, and a test notification. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { AlertSink, RoutingView } from "./sink.ts";
import { noStore, sendError, sendThrownError } from "../reply.ts";

const usualCount = 200;
const mostDeliveries = 2_000;

export function addDeliveries(app: FastifyInstance, sink: AlertSink, nowMs: () => number): void {
  app.get<{ Querystring: { limit?: string } }>(
    "/api/alerts/deliveries",
    async ({ query }, reply) => {
      const limit = query.limit === undefined ? usualCount : Number(query.limit);
      if (!Number.isInteger(limit) || limit < 1 || limit > mostDeliveries)
        return sendError(reply, 400, `limit must be a whole number from 1 to ${mostDeliveries}.`);
      const routing = routingOf(sink, reply);
      if (routing === undefined) return reply;
      const deliveries = routing.router.deliveries
        .list(limit)
        .map(({ timeMs, ...delivery }) => ({ time: new Date(timeMs).toISOString(), ...delivery }));
      return noStore(reply).send({ deliveries });
    },
  );

  /** Sends a real notification and reports the result of each channel. */
  app.post<{ Body: unknown }>("/api/alerts/test", async ({ body }, reply) => {
    const receiver =
      typeof body === "object" && body !== null && "receiver" in body ? body.receiver : undefined;
    if (typeof receiver !== "string" || receiver === "")
      return sendError(reply, 400, 'Name the receiver to test, such as {"receiver": "team"}.');
    const routing = routingOf(sink, reply);
    if (routing === undefined) return reply;
    try {
      const ways = await routing.test(receiver);
      const time = new Date(nowMs()).toISOString();
      return await noStore(reply).send({ receiver, time, ways });
    } catch (thrown) {
      return sendThrownError(reply, 404, thrown);
    }
  });
}

function routingOf({ routing, alertmanagers }: AlertSink, reply: FastifyReply) {
  if (routing === undefined)
    sendError(
      reply,
      404,
      `Alerts of this hub are routed by ${(alertmanagers?.active ?? []).join(", ")}: ask there.`,
    );
  return routing satisfies RoutingView | undefined;
}
