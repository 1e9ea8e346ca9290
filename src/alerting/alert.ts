/**
 * The stages of an alert between a rule and a receiver. Each stage has one type:
 * `RuleAlert` (rules/types.ts, stored as `FiringAlert`) → `PostableAlert`, sent to the router or to an Alertmanager →
 * `RoutedAlert`, held by the router and stored as `UndeliveredAlert` → `NotifiedAlert`, passed to templates, webhooks, commands
 * and the timeline.
 */
import type { NotifiedAlert } from "../formats/template/functions/alertmanager.ts";

export type { NotifiedAlert };

/** An alert as a client posts it (Alertmanager's term); the router fills in missing times. */
export interface PostableAlert {
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAtMs?: number | undefined;
  /** If in the past: when the alert resolved. If in the future: when it resolves unless it is posted again. */
  readonly endsAtMs?: number | undefined;
  readonly generatorUrl: string;
}

export interface RoutedAlert extends PostableAlert {
  readonly fingerprint: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly updatedAtMs: number;
  /** True if `endsAtMs` was not posted: it is `updatedAtMs` plus `resolve_timeout`. */
  readonly timeout: boolean;
  /** True if restored after a restart and not posted since: it may have resolved meanwhile. */
  readonly restored?: boolean;
}

/** The form in the state folder, from the first post until the resolved notification is delivered. */
export interface UndeliveredAlert extends Omit<RoutedAlert, "labels"> {
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * True if the alert has resolved. One that had resolved when it was posted stays resolved, even if the clock is set back later.
 */
export const isResolved = (
  { endsAtMs, updatedAtMs }: Pick<RoutedAlert, "endsAtMs" | "updatedAtMs">,
  nowMs: number,
): boolean => endsAtMs <= Math.max(nowMs, updatedAtMs);
