/** The destination of alerts: the router of this hub, or external Alertmanagers. */
import type { PostableAlert } from "../../alerting/alert.ts";
import type { FiringStore } from "../../alerting/rules/firing-store.ts";
import type { Router } from "../../alerting/route/router.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import type { ReceiverTestOutcome } from "../../alerting/channels/test-receiver.ts";

export interface AlertSink {
  /** Returns at once, with the number of refused alerts. */
  put(alerts: readonly PostableAlert[]): number;
  /** Routing in this hub; undefined with external Alertmanagers. */
  readonly routing?: RoutingView | undefined;
  /** External Alertmanagers, if they route. */
  readonly alertmanagers?:
    | { readonly active: readonly string[]; readonly dropped: readonly string[] }
    | undefined;
  /** A sentence each. */
  problems(): readonly string[];
  readonly selfMetrics: CollectMetrics;
  /** Reads its files again. @throws GpulseError with what is wrong; what was in use stays in use. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface RoutingView {
  readonly router: Router;
  /** Firing alerts of rules across restarts. */
  readonly firing: FiringStore;
  /** Settings without effect, a sentence each. */
  readonly warnings: readonly string[];
  /** Sends a test through every channel of a receiver. @throws GpulseError if there is no such receiver. */
  test(receiver: string): Promise<readonly ReceiverTestOutcome[]>;
}
