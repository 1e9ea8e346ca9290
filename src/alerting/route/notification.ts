/** A notification of a group of alerts to a receiver, and the error of a channel that failed to send it. */
import { createHash } from "node:crypto";
import type { NotifiedAlert } from "../alert.ts";

export interface Notification {
  readonly receiver: string;
  /** In Alertmanager's format: `{}/{severity="info"}:{alertname="Hot"}`. */
  readonly groupKey: string;
  readonly groupLabels: ReadonlyMap<string, string>;
  readonly status: "firing" | "resolved";
  readonly alerts: readonly NotifiedAlert[];
  /** The same for every attempt at one notification, also after a restart. */
  readonly idempotencyKey: string;
  readonly externalUrl: string;
  /** The label templates of the group's route. */
  readonly routeLabels?: Readonly<Record<string, string>>;
}

/** One channel of a receiver: an entry of its `…_configs`. */
export interface Integration {
  readonly receiver: string;
  /** `email`, `webhook`, … */
  readonly channel: string;
  /** The index of the entry among the receiver's entries of that channel. */
  readonly index: number;
  readonly sendResolved: boolean;
  /** Resolves when the service has accepted it. @throws NotifyError */
  send(notification: Notification, signal: AbortSignal): Promise<void>;
}

/** Why a notification failed. Its message never contains a secret. */
export class NotifyError extends Error {
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(
    sentence: string,
    options: {
      readonly retryable: boolean;
      readonly retryAfterMs?: number;
      readonly cause?: unknown;
    },
  ) {
    super(sentence, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "NotifyError";
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export const integrationKey = ({ receiver, channel, index }: Integration): string =>
  `${receiver}/${channel}/${index}`;

export function idempotencyKey(
  groupKey: string,
  integration: string,
  sentBefore: number,
  alerts: readonly NotifiedAlert[],
): string {
  // Includes the start time: the same alert next month must not count as today's.
  const content = alerts
    .map(({ fingerprint, status, startsAtMs }) => `${fingerprint}:${status}:${startsAtMs}`)
    .sort((left, right) => (left < right ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([groupKey, integration, sentBefore, content]))
    .digest("hex")
    .slice(0, 32);
}
