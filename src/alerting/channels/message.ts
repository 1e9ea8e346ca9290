/** A notification as Alertmanager hands it to its templates and its webhook: the same names, the same quirks. */
import type { Notification } from "../route/notification.ts";
import {
  type NotificationData,
  notificationValue,
} from "../../formats/template/functions/alertmanager.ts";
import { zeroTimeMs } from "../../formats/template/time.ts";
import type { ChannelMessage, Render } from "./channel.ts";

/** @param compile for the templates of the route's labels, which see all but those labels */
export function messageOf(
  notification: Notification,
  compile: (source: string) => Render = (source) => () => source,
): ChannelMessage {
  const data = dataOf(notification);
  const plain: ChannelMessage = { notification, data, value: notificationValue(data) };
  const templates = Object.entries(notification.routeLabels ?? {});
  if (templates.length === 0) return plain;
  const routeLabels = Object.fromEntries(
    templates.map(([name, source]) => [name, compile(source)(plain)]),
  );
  const labelled = { ...data, routeLabels };
  return { notification, data: labelled, value: notificationValue(labelled) };
}

function dataOf(notification: Notification): NotificationData {
  const { alerts } = notification;
  return {
    // Alertmanager quotes it as for a regular expression: `web.hook` comes out as `web\.hook`.
    receiver: notification.receiver.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&"),
    status: notification.status,
    alerts: alerts.map((alert) => ({
      status: alert.status,
      labels: Object.fromEntries(alert.labels),
      annotations: alert.annotations,
      startsAtMs: alert.startsAtMs,
      // The end of what still fires is a guess, and not told.
      endsAtMs: alert.status === "resolved" ? alert.endsAtMs : zeroTimeMs,
      generatorUrl: alert.generatorUrl,
      fingerprint: alert.fingerprint,
    })),
    groupLabels: Object.fromEntries(notification.groupLabels),
    commonLabels: common(alerts.map(({ labels }) => labels)),
    commonAnnotations: common(
      alerts.map(({ annotations }) => new Map(Object.entries(annotations))),
    ),
    externalUrl: notification.externalUrl,
    routeLabels: {},
  };
}

/** What all of them have, with the same value. */
function common(maps: readonly ReadonlyMap<string, string>[]): Record<string, string> {
  const [first, ...rest] = maps;
  return Object.fromEntries(
    [...(first ?? [])].filter(([name, value]) => rest.every((map) => map.get(name) === value)),
  );
}
