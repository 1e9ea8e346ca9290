/** The hub's read-only routes besides the page: live stream, metrics, inventory, health. */
import type { FastifyInstance } from "fastify";
import { formatError } from "../base/error.ts";
import { acceptsGzip } from "../formats/prometheus/negotiate.ts";
import { guardHeaders } from "./guard.ts";
import { clientOf } from "./limits/client.ts";
import { streamParts } from "./stream-parts.ts";
import type { LiveFeed } from "../view/live/feed.ts";
import type { HubOptions } from "./options.ts";
import { noStore } from "./reply.ts";

const RETRY_AFTER_SECONDS = 5;

interface LiveQuery {
  readonly Querystring: {
    /** Version of the fleet in the page's HTML, and the time of its frame: if current, it is not sent again. */
    readonly fleet?: string;
    readonly since?: string;
    /** `1`: the client can apply `changes` events. */
    readonly changes?: string;
    /** `1`: the client reads fleet and frame by columns. */
    readonly columns?: string;
  };
}

interface FleetQuery {
  readonly Querystring: { readonly columns?: string };
}

export function addRoutes(app: FastifyInstance, feed: LiveFeed, options: HubOptions): void {
  // A HEAD request would open a stream without a reader.
  app.get<LiveQuery>("/api/live", { exposeHeadRoute: false }, async (request, reply) => {
    const client = clientOf(request);
    if (!feed.streams.makeRoom(client)) {
      options.shedding?.shed("pages");
      return reply
        .code(503)
        .header("retry-after", RETRY_AFTER_SECONDS)
        .send({ error: "Too many pages are open on this gpulse: close one and try again." });
    }
    const { fleet: known, since, changes, columns } = request.query;
    const takesColumns = columns === "1";
    const isGzip = acceptsGzip(request.headers["accept-encoding"]);
    const isCurrent = feed.isCurrent(Number(known), Number(since));
    const described = isCurrent ? undefined : feed.describeEvent(takesColumns);
    const fleet = await described?.event.bytesLater(isGzip);
    reply.hijack();
    // The client disconnected while the fleet was compressed.
    if (reply.raw.destroyed) return reply;
    reply.raw.writeHead(200, {
      ...guardHeaders,
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      // nginx would otherwise hold events back until its buffer is full.
      "x-accel-buffering": "no",
      vary: "accept-encoding",
      ...(isGzip ? { "content-encoding": "gzip" } : {}),
    });
    reply.raw.flushHeaders();
    const takesChanges = changes === "1";
    const accepted = { isGzip, takesChanges, takesColumns };
    feed.streams.add(reply.raw, fleet, described?.frameMs, client, accepted);
    return reply;
  });

  app.get<FleetQuery>("/api/fleet", async ({ query }, reply) =>
    noStore(reply)
      .type("application/json; charset=utf-8")
      .send(feed.describe(query.columns === "1")),
  );

  app.get("/metrics", async (request, reply) => {
    const { body, contentType } = options.metricsPage(request.headers.accept, options.nowMs());
    return noStore(reply)
      .header("content-type", contentType)
      .send(typeof body === "string" ? body : streamParts(body));
  });

  app.get("/stats", async (_request, reply) => noStore(reply).send(await options.stats()));

  for (const method of ["POST", "PUT"] as const)
    app.route({
      method,
      url: "/-/reload",
      handler: async (_request, reply) => {
        try {
          await options.reload?.();
          return await reply.code(200).send();
        } catch (thrown) {
          return reply
            .code(500)
            .type("text/plain; charset=utf-8")
            .send(`failed to reload config: ${formatError(thrown)}\n`);
        }
      },
    });

  app.get("/-/healthy", async () => ({ healthy: true }));

  app.get("/-/ready", async (_request, reply) => {
    const state = options.ready();
    return reply.code(state.ready ? 200 : 503).send(state);
  });
}
