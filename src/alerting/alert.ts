/**
 * An alert on its way from a rule to a person. Each stage has one shape:
 * `RuleAlert` (rules/types.ts, stored as `FiringAlert`) → `PostableAlert`, sent to the router or to an Alertmanager →
 * `RoutedAlert`, held by the router and stored as `UndeliveredAlert` → `NotifiedAlert`, as templates, webhooks, commands
 * and the timeline see it.
 */
import type { NotifiedAlert } from "../formats/template/functions/alertmanager.ts";

export type { NotifiedAlert };

/** Alertmanager's name for an alert as a client posts it; the router fills in missing times. */
export interface PostableAlert {
  readonly labels: ReadonlyMap<string, string>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAtMs?: number | undefined;
  /** In the past: when it resolved. In the future: when it resolves unless it is posted again. */
  readonly endsAtMs?: number | undefined;
  readonly generatorUrl: string;
}

export interface RoutedAlert extends PostableAlert {
  readonly fingerprint: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
  readonly updatedAtMs: number;
  /** `endsAtMs` was not posted: it is `updatedAtMs` plus `resolve_timeout`. */
  readonly timeout: boolean;
  /** Restored after a restart and not posted since: it may have resolved meanwhile. */
  readonly restored?: boolean;
}

/** As the state folder holds it, from the first post until its resolved notification is delivered. */
export interface UndeliveredAlert extends Omit<RoutedAlert, "labels"> {
  readonly labels: Readonly<Record<string, string>>;
}

/** An alert that had resolved when it was posted stays resolved, also when the clock is set back afterwards. */
export const isResolved = (
  { endsAtMs, updatedAtMs }: Pick<RoutedAlert, "endsAtMs" | "updatedAtMs">,
  nowMs: number,
): boolean => endsAtMs <= Math.max(nowMs, updatedAtMs);
