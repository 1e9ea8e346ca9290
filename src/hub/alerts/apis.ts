/** Registers all alert routes besides the Prometheus API's: Alertmanager's API, and the routes of the page and the command line. */
import type { FastifyInstance } from "fastify";
import type { ApiContext } from "../api/context.ts";
import { AlertQuota } from "../limits/alert-quota.ts";
import { addChannels } from "./channels-api.ts";
import { addDeliveries } from "./deliveries-api.ts";
import type { AlertSink } from "./sink.ts";
import { addAlertmanagerApi } from "./v2/api.ts";
import { routedExternally } from "./v2/failure.ts";

type AlertApiContext = Pick<ApiContext, "log" | "nowMs" | "version" | "startedMs">;

export async function addAlertApis(
  app: FastifyInstance,
  sink: AlertSink,
  around: AlertApiContext,
  quota = new AlertQuota(),
): Promise<void> {
  const router = () => {
    if (sink.routing === undefined) throw routedExternally(sink.alertmanagers?.active ?? []);
    return sink.routing.router;
  };
  const { log, nowMs, version, startedMs } = around;
  await addAlertmanagerApi(app, { sink, router, quota, log, nowMs, version, startedMs });
  addDeliveries(app, sink, nowMs);
  addChannels(app);
}
