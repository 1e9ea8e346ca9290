/** Whoever takes alerts on: the router in this hub, or Alertmanagers elsewhere. */
import type { PostableAlert } from "../../alerting/alert.ts";
import type { FiringStore } from "../../alerting/rules/firing-store.ts";
import type { Router } from "../../alerting/route/router.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import type { ReceiverTestOutcome } from "../../alerting/channels/test-receiver.ts";

export interface AlertSink {
  /** Takes them on at once and without waiting; returns how many found no room. */
  put(alerts: readonly PostableAlert[]): number;
  /** Routing in this hub; undefined where others do it. */
  readonly routing?: RoutingView | undefined;
  /** Alertmanagers elsewhere, where they route. */
  readonly alertmanagers?:
    | { readonly active: readonly string[]; readonly dropped: readonly string[] }
    | undefined;
  /** What is in the way, a sentence each. */
  problems(): readonly string[];
  readonly selfMetrics: CollectMetrics;
  /** Reads its files again. @throws GpulseError with what is wrong; what was in use stays in use. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface RoutingView {
  readonly router: Router;
  /** Where rules keep what fires. */
  readonly firing: FiringStore;
  /** What loads and does nothing, a sentence each. */
  readonly warnings: readonly string[];
  /** Sends a test by every way of a receiver. @throws GpulseError where there is no such receiver. */
  test(receiver: string): Promise<readonly ReceiverTestOutcome[]>;
}
