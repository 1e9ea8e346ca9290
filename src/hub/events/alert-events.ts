/** Records alerts on the timeline: an event when an alert fires, when it resolves, and for each notification sent or failed. */
import type { NotifiedAlert, PostableAlert } from "../../alerting/alert.ts";
import type { NotificationDelivery } from "../../alerting/route/deliveries.ts";
import { fingerprintOf } from "../../alerting/route/fingerprint.ts";
import { type EventSink, type NewEvent, severityOf } from "./event.ts";
import type { AlertSink } from "../alerts/sink.ts";

/** Identifies an alert: the same alert received again, from any sender, is the same event. */
export const alertKey = ({
  fingerprint,
  startsAtMs,
  status,
}: Pick<NotifiedAlert, "fingerprint" | "startsAtMs" | "status">): string =>
  `alert:${fingerprint}:${startsAtMs}:${status}`;

export function alertEvent(alert: NotifiedAlert): NewEvent {
  const { status, labels, annotations, startsAtMs, endsAtMs } = alert;
  const name = labels["alertname"] ?? "alert";
  return {
    timeMs: status === "resolved" ? (endsAtMs ?? startsAtMs) : startsAtMs,
    kind: "alert",
    state: status,
    severity: severityOf(labels["severity"]),
    title: annotations["summary"] ?? annotations["title"] ?? name,
    text: annotations["description"] ?? annotations["message"],
    labels,
    key: alertKey(alert),
  };
}

/** The new start of alerts that fired before a restart, by fingerprint; undefined until received again. */
export type OngoingAlerts = Map<string, number | undefined>;

/** Alerts with a firing and no resolved event, by the keys of the events in order. */
export function findOngoingAlerts(keys: Iterable<string | undefined>): OngoingAlerts {
  const firing: OngoingAlerts = new Map();
  for (const key of keys) {
    const [, fingerprint, status] = /^alert:(.+):\d+:(firing|resolved)$/.exec(key ?? "") ?? [];
    if (fingerprint === undefined) continue;
    if (status === "firing") firing.set(fingerprint, undefined);
    else firing.delete(fingerprint);
  }
  return firing;
}

/**
 * Wraps the sink to record its alerts on the timeline. An alert that fired before a restart continues with a new start time:
 * that is not a second event.
 */
export function withTimeline(
  sink: AlertSink,
  events: EventSink,
  nowMs: () => number,
  firing: OngoingAlerts = new Map(),
): AlertSink {
  return {
    put: (alerts) => {
      for (const alert of alerts) recordAlert(alert, events, nowMs(), firing);
      return sink.put(alerts);
    },
    get routing() {
      return sink.routing;
    },
    get alertmanagers() {
      return sink.alertmanagers;
    },
    problems: () => sink.problems(),
    selfMetrics: (put, atMs) => sink.selfMetrics(put, atMs),
    reload: () => sink.reload(),
    close: () => sink.close(),
  };
}

function recordAlert(
  alert: PostableAlert,
  events: EventSink,
  nowMs: number,
  firing: OngoingAlerts,
): void {
  const { labels, annotations, startsAtMs, endsAtMs, generatorUrl } = alert;
  // Without a start time, successive alerts cannot be distinguished.
  if (startsAtMs === undefined) return;
  const isOver = endsAtMs !== undefined && endsAtMs <= nowMs;
  const fingerprint = fingerprintOf(labels);
  if (isOver) firing.delete(fingerprint);
  else if (firing.has(fingerprint)) {
    const start = firing.get(fingerprint) ?? startsAtMs;
    firing.set(fingerprint, start);
    if (start === startsAtMs) return;
  }
  events.add(
    alertEvent({
      status: isOver ? "resolved" : "firing",
      fingerprint,
      labels: Object.fromEntries(labels),
      annotations,
      startsAtMs,
      endsAtMs: isOver ? endsAtMs : undefined,
      generatorUrl,
    }),
  );
}

/** Only sent and failed notifications; suppressed ones are in the delivery log. */
export function deliveryEvent(delivery: NotificationDelivery): NewEvent | undefined {
  const { outcome, receiver, channel, status, group, alerts, timeMs, why } = delivery;
  if (outcome === "suppressed") return undefined;
  const what = group["alertname"] ?? `${alerts.length} alerts`;
  const by = channel === undefined ? receiver : `${receiver} by ${channel}`;
  return {
    timeMs,
    kind: "alert",
    state: outcome,
    severity: outcome === "failed" ? "warning" : "info",
    title:
      outcome === "sent"
        ? `notified ${by}: ${what} ${status}`
        : `failed to notify ${by} of ${what}`,
    text: why,
    labels: { ...group, receiver, ...(channel === undefined ? {} : { channel }) },
    key: `delivery:${timeMs}:${receiver}:${channel ?? ""}:${delivery.idempotencyKey ?? ""}:${outcome}`,
  };
}
