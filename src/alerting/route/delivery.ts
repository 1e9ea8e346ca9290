/** One notification on its way through one channel: tried again, with growing pauses, until it is taken or time is up. */
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

/** A channel that is down fails for every group: a few lines of each channel and minute say so. */
const failureLines = new LogThrottle();

const firstRetryMs = 1_000;
const longestRetryMs = 60_000;
const sendTimeoutMs = 30_000;

/** True when it was taken. `signal` ends the tries. */
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
        log.warn("a notification was not accepted", {
          receiver,
          channel,
          error: why,
          again,
          ...line,
        });
      record(integration, notification, context, { outcome: "failed", attempts, why });
    }
    if (final) return false;
    await pause(attempts, problem, context, signal);
  }
  return false;
}

/** What went wrong; undefined where nothing did. */
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

async function pause(
  attempts: number,
  problem: unknown,
  { clock, random }: DeliveryContext,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const asked = problem instanceof NotifyError ? problem.retryAfterMs : undefined;
  const growing = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(attempts - 1, 10));
  const delayMs = asked ?? growing * (0.5 + random() / 2);
  await new Promise<void>((resolve) => {
    const cancel = clock.after(delayMs, done);
    function done(): void {
      signal.removeEventListener("abort", done);
      cancel();
      resolve();
    }
    signal.addEventListener("abort", done, { once: true });
  });
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
