/**
 * Pending timers after a restart: `ALERTS_FOR_STATE` says since when an alert was active. The time we were away does not
 * count towards `for`, since nobody looked; an alert that had waited long enough fires again at once.
 */
import { sayError } from "../../errors/error.ts";
import { labelValue } from "../../model/labels.ts";
import type { RuleContext } from "./context.ts";
import type { RuleRun } from "./group.ts";

/** What is older is another outage: its alerts start anew. */
const outageToleranceMs = 3_600_000;

export async function restoreTimers(
  runs: readonly RuleRun[],
  timeMs: number,
  context: RuleContext,
): Promise<void> {
  for (const { rule, alerting } of runs) {
    if (alerting === undefined || alerting.restored) continue;
    try {
      if (rule.kind === "alert" && rule.forMs > 0 && alerting.active.length > 0)
        await restoreRule(alerting, timeMs, context);
    } catch (thrown) {
      context.log.warn("pending alerts could not be restored", {
        rule: rule.name,
        trouble: sayError(thrown),
      });
    }
    alerting.restored = true;
  }
}

async function restoreRule(
  alerting: NonNullable<RuleRun["alerting"]>,
  timeMs: number,
  { history }: RuleContext,
): Promise<void> {
  const { rule } = alerting;
  const found = await history.select(
    [
      { name: "__name__", op: "=", value: "ALERTS_FOR_STATE" },
      { name: "alertname", op: "=", value: rule.name },
    ],
    timeMs - outageToleranceMs,
    timeMs,
  );
  for (const { labels, column } of found) {
    let last = column.times.length - 1;
    while (last >= 0 && column.stale?.[last] === 1) last--;
    const [downAtMs, activeAtSeconds] = [column.times[last], column.values[last]];
    if (downAtMs === undefined || activeAtSeconds === undefined) continue;
    if (labelValue(labels, "alertname") !== rule.name) continue;
    const activeAtMs = activeAtSeconds * 1_000;
    const waitedMs = downAtMs - activeAtMs;
    const since = waitedMs >= rule.forMs ? activeAtMs : activeAtMs + (timeMs - downAtMs);
    alerting.restore(
      labels.filter(([name]) => name !== "__name__"),
      since,
    );
  }
}
