/** What happened, as the timeline stores it: alerts, anomalies, XIDs, devices that come and go, kernel lines, deployments and notes. */

export const eventKinds = [
  "alert",
  "anomaly",
  "xid",
  "device",
  "kernel",
  "deployment",
  "annotation",
] as const;
export type EventKind = (typeof eventKinds)[number];

export const eventSeverities = ["info", "warning", "critical"] as const;
export type EventSeverity = (typeof eventSeverities)[number];

export interface NewEvent {
  readonly timeMs: number;
  /** When it was over, where it lasted. */
  readonly endMs?: number | undefined;
  readonly kind: EventKind;
  /** What of its kind: `firing`, `resolved`, `sent`, `failed`, `appeared`, `lost`, `back`, … */
  readonly state?: string | undefined;
  readonly severity: EventSeverity;
  readonly title: string;
  readonly text?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** Events with the same key are one: reported twice, kept once. */
  readonly key?: string | undefined;
}

export interface TimelineEvent extends NewEvent {
  readonly id: string;
}

/** Anyone who has something to tell. */
export interface EventSink {
  /** Undefined where an event with this key is kept already, or it is older than anything that is. */
  add(event: NewEvent): TimelineEvent | undefined;
}

export const severityOf = (given: string | undefined): EventSeverity =>
  given === "critical" || given === "info" ? given : "warning";

const maxTitle = 300;
const maxText = 4_000;
const maxLabels = 40;
const maxLabel = 500;

/** Within bounds, so that a busy sender costs no more than a quiet one. */
export function boundEvent(event: NewEvent): NewEvent {
  const labels = Object.entries(event.labels)
    .slice(0, maxLabels)
    .map(([name, value]) => [name.slice(0, maxLabel), value.slice(0, maxLabel)] as const);
  return {
    ...event,
    title: event.title.slice(0, maxTitle),
    ...(event.text === undefined ? {} : { text: event.text.slice(0, maxText) }),
    labels: Object.fromEntries(labels),
  };
}
