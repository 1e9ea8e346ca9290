/**
 * Restores pending timers after a restart: `ALERTS_FOR_STATE` holds since when an alert was active. The downtime does not count
 * towards `for`; an alert that had been pending long enough fires again at once.
 */
import { formatError } from "../../base/error.ts";
import { labelKey } from "../../model/labels.ts";
import type { Matcher, SelectedSeries } from "../../model/select.ts";
import type { AlertingState } from "./alerting.ts";
import type { RuleContext } from "./context.ts";
import { timerName, timerSeries } from "./output.ts";

/** After a longer outage, alerts start over. */
export const outageToleranceMs = 3_600_000;

export async function restoreTimers(
  states: readonly AlertingState[],
  timeMs: number,
  context: RuleContext,
): Promise<void> {
  for (const state of states) {
    if (state.restored) continue;
    try {
      if (state.rule.forMs > 0 && state.active.length > 0)
        await restoreRule(state, timeMs, context);
    } catch (thrown) {
      context.log.warn("restoring pending alerts failed", {
        rule: state.rule.name,
        error: formatError(thrown),
      });
    }
    state.restored = true;
  }
}

async function restoreRule(
  state: AlertingState,
  timeMs: number,
  { history }: RuleContext,
): Promise<void> {
  const { rule } = state;
  // A label with a template has a different value in every series.
  const fixed = Object.entries(rule.labels).filter(
    ([name, value]) => name !== "alertname" && !value.includes("{{"),
  );
  const matchers = [["__name__", timerName], ["alertname", rule.name], ...fixed].map(
    ([name = "", value = ""]): Matcher => ({ name, op: "=", value }),
  );
  const found = new Map<string, SelectedSeries>();
  for (const series of await history.select(matchers, timeMs - outageToleranceMs, timeMs))
    found.set(labelKey(series.labels), series);
  state.restore((alert) => {
    const series = found.get(timerSeries(state, alert).key);
    return series === undefined ? undefined : activeSince(series, rule.forMs, timeMs);
  });
}

/** Undefined if it was not active at the shutdown. */
function activeSince(
  { column }: SelectedSeries,
  forMs: number,
  timeMs: number,
): number | undefined {
  const last = column.times.length - 1;
  const [downAtMs, activeAtSeconds] = [column.times[last], column.values[last]];
  if (column.stale?.[last] === 1 || downAtMs === undefined || activeAtSeconds === undefined)
    return undefined;
  const activeAtMs = activeAtSeconds * 1_000;
  return downAtMs - activeAtMs >= forMs ? activeAtMs : activeAtMs + (timeMs - downAtMs);
}
