/** `GET /api/alert-summary`: the counts for the badge and the fleet's banner, small enough for every page to poll. */
import type { FastifyInstance } from "fastify";
import { type AlertSummary, countAlerts } from "../../view/alert-summary.ts";
import { noStore } from "../reply.ts";
import type { AlertingEngine } from "./alerting.ts";

type AlertingView = Pick<AlertingEngine, "groups" | "sink">;

/** External Alertmanagers own silences and inhibitions: every firing alert of the hub's rules counts. */
export function summarizeAlerts({ groups, sink }: AlertingView, nowMs: number): AlertSummary {
  const router = sink.routing?.router;
  if (router === undefined) {
    const firing = groups
      .flatMap(({ runs }) => runs.flatMap(({ alerting }) => alerting?.active ?? []))
      .filter(({ state }) => state === "firing");
    return { active: countAlerts(firing.map(({ labels }) => labels)), silenced: 0, inhibited: 0 };
  }
  let [silenced, inhibited] = [0, 0];
  const active: ReadonlyMap<string, string>[] = [];
  for (const alert of router.alerts) {
    if (alert.endsAtMs < nowMs) continue;
    const status = router.statusOf(alert);
    if (status.silencedBy.length > 0) silenced += 1;
    else if (status.inhibitedBy.length > 0) inhibited += 1;
    else active.push(alert.labels);
  }
  return { active: countAlerts(active), silenced, inhibited };
}

export function addAlertSummary(
  app: FastifyInstance,
  view: AlertingView,
  nowMs: () => number,
): void {
  app.get("/api/alert-summary", async (_request, reply) =>
    noStore(reply).send(summarizeAlerts(view, nowMs())),
  );
}
