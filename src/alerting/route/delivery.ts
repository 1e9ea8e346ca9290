/** Delivers one notification through one channel, retried with exponential back-off until accepted or out of time. */
import { backoffMs, pause } from "../../base/retry.ts";
import { formatError } from "../../base/error.ts";
import { LogThrottle } from "../../base/log-throttle.ts";
import type { Log } from "../../base/log.ts";
import type { Clock } from "../../base/clock.ts";
import type { DeliveryLog } from "./deliveries.ts";
import { type Integration, type Notification, NotifyError } from "./notification.ts";

export interface DeliveryContext {
  readonly deliveries: DeliveryLog;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
}

/** A channel that is down fails for every group: logging is limited to a few lines per channel and minute. */
const failureLines = new LogThrottle();

const backoff = { firstMs: 1_000, longestMs: 60_000 };
const sendTimeoutMs = 30_000;

/** Returns true if the channel accepted it. `signal` ends the retries. */
export async function deliver(
  integration: Integration,
  notification: Notification,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { log, clock } = context;
  for (let attempts = 1; !signal.aborted; attempts++) {
    const problem = await attempt(integration, notification, signal);
    if (problem === undefined) {
      record(integration, notification, context, { outcome: "sent", attempts });
      return true;
    }
    const final = problem instanceof NotifyError && !problem.retryable;
    const why = formatError(problem);
    if (attempts === 1 || final) {
      const { receiver, channel } = integration;
      const again = final ? "with the next notification" : "soon";
      const line = failureLines.take(`${receiver} ${channel}`, clock.nowMs());
      if (line !== undefined)
        log.warn("notification failed", {
          receiver,
          channel,
          error: why,
          again,
          ...line,
        });
      record(integration, notification, context, { outcome: "failed", attempts, why });
    }
    if (final) return false;
    const asked = problem instanceof NotifyError ? problem.retryAfterMs : undefined;
    await pause(asked ?? backoffMs(attempts - 1, context.random, backoff), signal, clock);
  }
  return false;
}

/** Returns the error; undefined on success. */
async function attempt(
  integration: Integration,
  notification: Notification,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    const limit = AbortSignal.timeout(sendTimeoutMs);
    await integration.send(notification, AbortSignal.any([limit, signal]));
    return undefined;
  } catch (thrown) {
    return thrown ?? new Error("the channel failed without a reason");
  }
}

function record(
  { receiver, channel }: Integration,
  { status, alerts, groupLabels, idempotencyKey }: Notification,
  { deliveries, clock }: DeliveryContext,
  result: { readonly outcome: "sent" | "failed"; readonly attempts: number; readonly why?: string },
): void {
  deliveries.add({
    timeMs: clock.nowMs(),
    receiver,
    channel,
    status,
    group: Object.fromEntries(groupLabels),
    alerts: alerts.map(({ fingerprint }) => fingerprint),
    idempotencyKey,
    ...result,
  });
}
