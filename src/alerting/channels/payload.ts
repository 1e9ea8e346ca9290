/** Alertmanager's webhook payload, version 4, which webhook receivers parse. Fields may be added, but none may change. */
import type { NotifiedAlert } from "../alert.ts";
import { formatTime, zeroTimeMs } from "../../formats/template/time.ts";
import type { ChannelMessage } from "./channel.ts";

export interface PayloadAlert {
  readonly status: "firing" | "resolved";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly generatorURL: string;
  readonly fingerprint: string;
}

export interface Payload {
  readonly receiver: string;
  readonly status: "firing" | "resolved";
  readonly alerts: readonly PayloadAlert[];
  readonly groupLabels: Readonly<Record<string, string>>;
  readonly commonLabels: Readonly<Record<string, string>>;
  readonly commonAnnotations: Readonly<Record<string, string>>;
  readonly externalURL: string;
  readonly version: "4";
  readonly groupKey: string;
  readonly truncatedAlerts: number;
  readonly routeLabels?: Readonly<Record<string, string>>;
}

/** `maxAlerts` 0 means all of them. */
export function payloadOf({ data, notification }: ChannelMessage, maxAlerts: number): Payload {
  const included = maxAlerts === 0 ? data.alerts : data.alerts.slice(0, maxAlerts);
  return {
    receiver: data.receiver,
    status: data.status,
    alerts: included.map(payloadAlert),
    groupLabels: sorted(data.groupLabels),
    commonLabels: sorted(data.commonLabels),
    commonAnnotations: sorted(data.commonAnnotations),
    externalURL: data.externalUrl,
    version: "4",
    groupKey: notification.groupKey,
    truncatedAlerts: data.alerts.length - included.length,
    ...(Object.keys(data.routeLabels).length === 0
      ? {}
      : { routeLabels: sorted(data.routeLabels) }),
  };
}

function payloadAlert(alert: NotifiedAlert): PayloadAlert {
  return {
    status: alert.status,
    labels: sorted(alert.labels),
    annotations: sorted(alert.annotations),
    startsAt: timeText(alert.startsAtMs),
    endsAt: timeText(alert.endsAtMs ?? zeroTimeMs),
    generatorURL: alert.generatorUrl,
    fingerprint: alert.fingerprint,
  };
}

const timeText = (timeMs: number): string =>
  formatTime(timeMs, "2006-01-02T15:04:05.999999999Z07:00");

const sorted = (pairs: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(pairs).sort(([left], [right]) => (left < right ? -1 : 1)));
