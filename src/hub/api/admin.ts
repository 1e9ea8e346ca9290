/** `admin/tsdb/…`: deletes and snapshots. On loopback these are allowed for the hub's owner. */
import { randomBytes } from "node:crypto";
import path from "node:path";
import type { FastifyInstance } from "fastify";
import { makeFolderSync } from "../../base/make-folder.ts";
import type { Store } from "../../storage/embedded/store.ts";
import type { ApiContext } from "./context.ts";
import { PrometheusApiError } from "./failure.ts";
import { Params } from "./params.ts";
import { success } from "./result.ts";
import { matcherSets, parseTimeRange } from "./series.ts";

const both = ["POST", "PUT"];

export function addAdmin(app: FastifyInstance, context: ApiContext): void {
  const { dataDir, nowMs } = context;
  const own = (): Store => {
    if (context.store !== undefined) return context.store;
    throw new PrometheusApiError(
      "bad_data",
      `this hub keeps nothing itself: ask the engine behind it, ${context.history.place}`,
    );
  };
  app.route({
    method: both,
    url: "/api/v1/admin/tsdb/delete_series",
    handler: async (request, reply) => {
      const params = Params.of(request);
      const sets = matcherSets(params);
      if (sets.length === 0)
        throw new PrometheusApiError("bad_data", "no match[] parameter provided");
      const { startMs, endMs } = parseTimeRange(params);
      await own().delete(sets, startMs, endMs);
      return reply.code(204).send();
    },
  });
  app.route({
    method: both,
    url: "/api/v1/admin/tsdb/clean_tombstones",
    handler: async (_request, reply) => {
      await own().maintain();
      return reply.code(204).send();
    },
  });
  app.route({
    method: both,
    url: "/api/v1/admin/tsdb/snapshot",
    handler: async (_request, reply) => {
      // The random suffix distinguishes snapshots of the same second.
      const instant = new Date(nowMs()).toISOString().replaceAll(/[-:]/g, "").slice(0, 15);
      const name = `${instant}Z-${randomBytes(8).toString("hex")}`;
      const folder = path.join(dataDir, "snapshots");
      makeFolderSync(folder);
      await own().snapshot(path.join(folder, name));
      return reply.type("application/json").send(success(JSON.stringify({ name })));
    },
  });
}
