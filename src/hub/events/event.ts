/** Events of the timeline: alerts, anomalies, XIDs, devices that appear and disappear, kernel lines, deployments and notes. */

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
  /** End of an event with a duration. */
  readonly endMs?: number | undefined;
  readonly kind: EventKind;
  /** State within the kind: `firing`, `resolved`, `sent`, `failed`, `appeared`, `lost`, `back`, … */
  readonly state?: string | undefined;
  readonly severity: EventSeverity;
  readonly title: string;
  readonly text?: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  /** Deduplicates events: of several with the same key, one is stored. */
  readonly key?: string | undefined;
}

export interface TimelineEvent extends NewEvent {
  readonly id: string;
}

/** Accepts events for the timeline. */
export interface EventSink {
  /** Returns undefined if an event with this key is stored already, or the event is older than the retention. */
  add(event: NewEvent): TimelineEvent | undefined;
}

export const severityOf = (given: string | undefined): EventSeverity =>
  given === "critical" || given === "info" ? given : "warning";

const maxTitle = 300;
const maxText = 4_000;
const maxLabels = 40;
const maxLabel = 500;

/** Truncates an event to the limits, so that a verbose sender costs no more than others. */
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
