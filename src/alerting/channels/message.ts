/** A notification in the form that Alertmanager passes to its templates and its webhook: the same names, the same quirks. */
import type { Notification } from "../route/notification.ts";
import {
  type NotificationData,
  notificationValue,
} from "../../formats/template/functions/alertmanager.ts";
import type { ChannelMessage, Render } from "./channel.ts";

/** @param compile compiles the templates of the route's labels, which see everything except those labels */
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
    // Alertmanager escapes it as for a regular expression: `web.hook` becomes `web\.hook`.
    receiver: notification.receiver.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&"),
    status: notification.status,
    alerts,
    groupLabels: Object.fromEntries(notification.groupLabels),
    commonLabels: common(alerts.map(({ labels }) => labels)),
    commonAnnotations: common(alerts.map(({ annotations }) => annotations)),
    externalUrl: notification.externalUrl,
    routeLabels: {},
  };
}

/** The pairs that all of them share. */
function common(all: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const [first, ...rest] = all;
  return Object.fromEntries(
    Object.entries(first ?? {}).filter(([name, value]) =>
      rest.every((pairs) => pairs[name] === value),
    ),
  );
}
