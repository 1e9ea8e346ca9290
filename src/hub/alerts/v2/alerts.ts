/** `/api/v2/alerts` and `/api/v2/alerts/groups`: receives alerts and lists them with their status. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { RoutedAlert, PostableAlert } from "../../../alerting/alert.ts";
import { fingerprintOf } from "../../../alerting/route/fingerprint.ts";
import { byLabels, labelOrder } from "../../../alerting/route/label-order.ts";
import { classicName, compilePattern, matchesAll } from "../../../alerting/route/matchers.ts";
import { parseMatcher } from "../../../alerting/route/parse-matchers.ts";
import type { AlertStatus, Router } from "../../../alerting/route/router.ts";
import { GpulseError } from "../../../base/error.ts";
import { quoteText } from "../../../formats/template/printf.ts";
import type { ClientKey } from "../../../base/fair/client-key.ts";
import { Params } from "../../api/params.ts";
import { alertBodyBytes, processAlertsFairly } from "../../limits/alert-quota.ts";
import { clientOf } from "../../limits/client.ts";
import type { V2Context } from "./context.ts";
import {
  badRequest,
  missing,
  invalidUri,
  tooMany,
  unreadable,
  AlertmanagerApiError,
} from "./failure.ts";
import { Body } from "./read.ts";

/** Errors listed in one response. */
const maxSentences = 20;
const quotaRetrySeconds = 60;

export function addAlerts(app: FastifyInstance, context: V2Context): void {
  app.get("/api/v2/alerts", async (request, reply) => {
    const router = context.router();
    const keep = filterOf(request, router, context.nowMs());
    const receiver = receiverFilter(request);
    const found = router.alerts
      .flatMap((alert) => {
        const receivers = router.routesOf(alert.labels).map((route) => route.receiver);
        if (!receivers.some(receiver)) return [];
        const status = keep(alert);
        return status === undefined ? [] : [toGettableAlert(alert, status, receivers)];
      })
      .sort((left, right) => (left.fingerprint < right.fingerprint ? -1 : 1));
    return reply.send(found);
  });

  app.get("/api/v2/alerts/groups", async (request, reply) => {
    const router = context.router();
    const keep = filterOf(request, router, context.nowMs());
    const receiver = receiverFilter(request);
    const groups = router.groups
      .filter(({ route }) => receiver(route.receiver))
      .map((group) => ({
        group,
        alerts: [...group.alerts]
          .sort(byLabels)
          .map((alert) => ({ alert, status: keep(alert) }))
          .filter(({ status }) => status !== undefined),
      }))
      .filter(({ alerts }) => alerts.length > 0)
      .sort(
        ({ group: left }, { group: right }) =>
          labelOrder(left.labels, right.labels) ||
          (left.route.receiver < right.route.receiver ? -1 : 1),
      );
    const receivers = new Map<string, string[]>();
    for (const { group, alerts } of groups)
      for (const { alert } of alerts)
        receivers.set(alert.fingerprint, [
          ...(receivers.get(alert.fingerprint) ?? []),
          group.route.receiver,
        ]);
    const found = groups.map(({ group, alerts }) => ({
      alerts: alerts.flatMap(({ alert, status }) =>
        status === undefined
          ? []
          : [toGettableAlert(alert, status, (receivers.get(alert.fingerprint) ?? []).sort(byText))],
      ),
      labels: Object.fromEntries(group.labels),
      receiver: { name: group.route.receiver },
    }));
    return reply.send(found);
  });

  app.post("/api/v2/alerts", { bodyLimit: alertBodyBytes }, async (request, reply) => {
    if (request.body === undefined) throw missing("alerts");
    if (!Array.isArray(request.body)) throw unreadable("alerts", "it must be a list of alerts");
    const client = clientOf(request);
    const over = context.quota.refusal(client, request.body.length, context.nowMs());
    if (over !== undefined) throw tooMany(over.status, over.sentence, over.retryAfterSeconds);
    const posted = request.body.map((item: unknown, at) => readAlert(item, String(at)));
    const wrong = posted.map(whatIsWrong);
    // Valid alerts are accepted even if others in the request are not.
    const sound = posted.filter((_, at) => wrong[at] === undefined);
    const { refused, overQuota } = await put(context, sound, client);
    const sentences = wrong.filter((sentence) => sentence !== undefined);
    if (overQuota > 0)
      context.log.warn("alerts refused: client has too many active alerts", {
        client: client.principal,
        address: client.address,
        refused: overQuota,
        accepted: sound.length - overQuota,
      });
    if (sentences.length > 0) throw badRequest(sentences.slice(0, maxSentences).join("; "));
    if (overQuota > 0)
      throw tooMany(
        429,
        `${overQuota} of ${posted.length} alerts were refused: this client has too many active alerts. Resolve some first.`,
        quotaRetrySeconds,
      );
    if (refused > 0)
      throw new AlertmanagerApiError(503, `too many alerts: ${refused} were refused, retry later`);
    return reply.code(200).send();
  });
}

/** Active alerts may always be sent again; new ones count against their client's quota. */
async function put(
  { sink, quota, nowMs }: V2Context,
  alerts: readonly PostableAlert[],
  client: ClientKey,
): Promise<{ refused: number; overQuota: number }> {
  const router = sink.routing?.router;
  let [refused, overQuota] = [0, 0];
  if (router !== undefined) quota.sweep((fingerprint) => router.isActive(fingerprint), nowMs());
  await processAlertsFairly(alerts, client, (some) => {
    const allowed =
      router === undefined
        ? some
        : some.filter(({ labels, endsAtMs }) => {
            const fingerprint = fingerprintOf(labels);
            const isOver = endsAtMs !== undefined && endsAtMs <= nowMs();
            return isOver || quota.activate(client, fingerprint);
          });
    overQuota += some.length - allowed.length;
    if (allowed.length > 0) refused += sink.put(allowed);
  });
  return { refused, overQuota };
}

const byText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

function readAlert(value: unknown, place: string): PostableAlert {
  const body = new Body("alerts", place, value);
  const annotations = body.pairs("annotations") ?? new Map<string, string>();
  const endsAtMs = body.timeMs("endsAt");
  const startsAtMs = body.timeMs("startsAt");
  const generatorUrl = body.text("generatorURL") ?? "";
  if (generatorUrl !== "" && !isUri(generatorUrl))
    throw invalidUri(body.at("generatorURL"), generatorUrl);
  body.need("labels");
  const labels = [...(body.pairs("labels") ?? [])].filter(([, text]) => text !== "");
  return {
    labels: new Map(labels),
    annotations: Object.fromEntries(annotations),
    startsAtMs,
    endsAtMs,
    generatorUrl,
  };
}

/** True for a URL with a scheme, or an absolute path. */
const isUri = (text: string): boolean => text.startsWith("/") || URL.canParse(text);

/** The error in Alertmanager's wording; undefined if the alert is valid. */
function whatIsWrong({
  labels,
  annotations,
  startsAtMs,
  endsAtMs,
}: PostableAlert): string | undefined {
  if (startsAtMs !== undefined && endsAtMs !== undefined && endsAtMs < startsAtMs)
    return "start time must be before end time";
  if (labels.size === 0) return "at least one label pair required";
  const bad = (names: Iterable<string>): string | undefined =>
    [...names].find((name) => !classicName.test(name));
  const label = bad(labels.keys());
  if (label !== undefined) return `invalid label set: invalid name ${quoteText(label)}`;
  const annotation = bad(Object.keys(annotations));
  if (annotation !== undefined) return `invalid annotations: invalid name ${quoteText(annotation)}`;
  return undefined;
}

/** Returns the status of each alert that the query selects, and undefined for any other alert. */
function filterOf(
  request: FastifyRequest,
  router: Router,
  nowMs: number,
): (alert: RoutedAlert) => AlertStatus | undefined {
  const params = Params.of(request);
  const asked = (name: string): boolean => isTrue(params.text(name) ?? "true");
  const [active, silenced, inhibited] = ["active", "silenced", "inhibited"].map(asked);
  const matchers = parseOrBadRequest(() => params.all("filter").map(parseMatcher));
  return (alert) => {
    if (alert.endsAtMs < nowMs || !matchesAll(matchers, alert.labels)) return undefined;
    const status = router.statusOf(alert);
    const hidden =
      (active === false && status.state === "active") ||
      (silenced === false && status.silencedBy.length > 0) ||
      (inhibited === false && status.inhibitedBy.length > 0);
    return hidden ? undefined : status;
  };
}

/** Values that Alertmanager's framework parses as true; all others are false. */
const isTrue = (text: string): boolean =>
  /^(true|1|yes|ok|y|on|selected|checked|t|enabled)$/i.test(text);

function receiverFilter(request: FastifyRequest): (receiver: string) => boolean {
  const given = Params.of(request).text("receiver");
  if (given === undefined) return () => true;
  const pattern = parseOrBadRequest(
    () => compilePattern(`^(?:${given})$`),
    "failed to parse receiver param: ",
  );
  return (receiver) => pattern.matcher(receiver).find();
}

/** Turns a parse error into a 400 response with its message. */
export function parseOrBadRequest<Read>(read: () => Read, before = ""): Read {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof GpulseError)) throw thrown;
    throw badRequest(`${before}${thrown.message}`);
  }
}

function toGettableAlert(alert: RoutedAlert, status: AlertStatus, receivers: readonly string[]) {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    annotations: alert.annotations,
    endsAt: iso(alert.endsAtMs),
    fingerprint: alert.fingerprint,
    receivers: receivers.map((name) => ({ name })),
    startsAt: iso(alert.startsAtMs),
    status: {
      inhibitedBy: status.inhibitedBy,
      silencedBy: status.silencedBy,
      state: status.state,
    },
    updatedAt: iso(alert.updatedAtMs),
    ...(alert.generatorUrl === "" ? {} : { generatorURL: alert.generatorUrl }),
    labels: Object.fromEntries([...alert.labels].sort(([left], [right]) => byText(left, right))),
  };
}
