/** Sends one notification, marked as a test, through every channel of a receiver, and returns each outcome. */
import { fingerprintOf } from "../route/fingerprint.ts";
import { type Notification, NotifyError } from "../route/notification.ts";
import { didYouMean } from "../../config/closest.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { Clock } from "../../base/clock.ts";
import type { OpenIntegration, ReceiverSet } from "./open.ts";

export interface ReceiverTestOutcome {
  readonly channel: string;
  readonly index: number;
  readonly ok: boolean;
  readonly tookMs: number;
  /** The reason if the service did not accept it. Never contains a secret. */
  readonly why?: string;
  /** True if a retry may succeed. */
  readonly retryable?: boolean;
}

export interface TestOptions {
  readonly clock: Clock;
  readonly externalUrl: string;
  /** Unique per test, so that no service takes it for a duplicate. */
  readonly id: string;
  readonly timeoutMs?: number;
}

/** Outcomes in the receiver's order. @throws GpulseError if the receiver does not exist or has no channels. */
export async function testReceiver(
  receivers: ReceiverSet,
  receiver: string,
  options: TestOptions,
): Promise<readonly ReceiverTestOutcome[]> {
  if (!receivers.names.includes(receiver))
    throw new GpulseError(
      "ALERT_CONFIG",
      `There is no receiver "${receiver}".${didYouMean(receiver, receivers.names) || ` Known: ${receivers.names.join(", ")}.`}`,
    );
  const integrations = receivers.integrations(receiver);
  if (integrations.length === 0)
    throw new GpulseError(
      "ALERT_CONFIG",
      `The receiver "${receiver}" sends nowhere: it has no channel that gpulse knows.`,
    );
  return Promise.all(integrations.map((one) => outcomeOf(one, options)));
}

async function outcomeOf(
  integration: OpenIntegration,
  options: TestOptions,
): Promise<ReceiverTestOutcome> {
  const { clock, timeoutMs = 30_000 } = options;
  const { channel, index } = integration;
  const startMs = clock.monotonicMs();
  const took = (): number => Math.round(clock.monotonicMs() - startMs);
  try {
    const limit = AbortSignal.timeout(timeoutMs);
    await integration.send(testNotification(integration.receiver, "firing", options), limit);
    // A test must not leave an incident behind.
    if (integration.staysOpen)
      await integration.send(testNotification(integration.receiver, "resolved", options), limit);
    return { channel, index, ok: true, tookMs: took() };
  } catch (thrown) {
    const retryable = thrown instanceof NotifyError && thrown.retryable;
    return { channel, index, ok: false, tookMs: took(), why: formatError(thrown), retryable };
  }
}

function testNotification(
  receiver: string,
  status: "firing" | "resolved",
  { clock, externalUrl, id }: TestOptions,
): Notification {
  const nowMs = clock.nowMs();
  const labels = { alertname: "GpulseTest", receiver, severity: "info" };
  return {
    receiver,
    groupKey: `{}/test:{id="${id}"}`,
    groupLabels: new Map([["alertname", "GpulseTest"]]),
    status,
    idempotencyKey: `test-${id}-${status}`,
    externalUrl,
    alerts: [
      {
        status,
        fingerprint: fingerprintOf(new Map(Object.entries(labels))),
        labels,
        annotations: {
          summary: `This is a test of the receiver ${receiver}`,
          description: "Sent on request of a user of gpulse. No action is needed.",
        },
        startsAtMs: nowMs,
        endsAtMs: status === "resolved" ? nowMs : undefined,
        generatorUrl: externalUrl,
      },
    ],
  };
}
