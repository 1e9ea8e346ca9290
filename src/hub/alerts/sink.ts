/** The destination of alerts: the router of this hub, or external Alertmanagers. */
import type { PostableAlert } from "../../alerting/alert.ts";
import type { FiringStore } from "../../alerting/rules/firing-store.ts";
import type { Router } from "../../alerting/route/router.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import type { ReceiverTestOutcome } from "../../alerting/channels/test-receiver.ts";

export interface AlertSink {
  /** Returns at once, with the number of rejected alerts. */
  put(alerts: readonly PostableAlert[]): number;
  /** Routing in this hub; undefined with external Alertmanagers. */
  readonly routing?: RoutingView | undefined;
  /** External Alertmanagers, if they route. */
  readonly alertmanagers?:
    | { readonly active: readonly string[]; readonly dropped: readonly string[] }
    | undefined;
  /** Current problems, one sentence each. */
  problems(): readonly string[];
  readonly selfMetrics: CollectMetrics;
  /** Reads its files again. @throws GpulseError if one is invalid; the previous configuration stays in use. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface RoutingView {
  readonly router: Router;
  /** Persists the firing alerts of rules across restarts. */
  readonly firing: FiringStore;
  /** Settings without effect, one sentence each. */
  readonly warnings: readonly string[];
  /** Sends a test through every channel of a receiver. @throws GpulseError if there is no such receiver. */
  test(receiver: string): Promise<readonly ReceiverTestOutcome[]>;
}
