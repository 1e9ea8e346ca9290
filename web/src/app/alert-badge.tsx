/**
 * The number of firing alerts that need attention: in the header of every page, and before the title of the tab. Silenced and
 * inhibited alerts and those of severity info do not count.
 */
import { computed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type AlertSummary, severityLevel } from "../../../src/view/alert-summary.ts";
import { alertSummary } from "../query/alert-summary.ts";
import { useJson } from "../query/use-fetch.ts";
import { hrefOf } from "../view-state/address.ts";

const EVERY_MS = 10_000;

/** Undefined until it is known. */
export const firingCount = computed(() =>
  alertSummary.value?.active
    .filter(({ severity }) => severityLevel(severity) !== "note")
    .reduce((sum, { count }) => sum + count, 0),
);

export function AlertBadge() {
  const { value } = useJson<AlertSummary>("api/alert-summary", EVERY_MS);
  useEffect(() => {
    if (value !== undefined) alertSummary.value = value;
  }, [value]);
  const summary = alertSummary.value;
  const count = firingCount.value ?? 0;
  if (summary === undefined || count === 0) return null;
  const isCritical = summary.active.some(({ severity }) => severityLevel(severity) === "bad");
  const says = `${count} ${count === 1 ? "alert" : "alerts"} firing`;
  const quiet = [
    summary.silenced > 0 ? `${summary.silenced} silenced` : "",
    summary.inhibited > 0 ? `${summary.inhibited} inhibited` : "",
  ].filter((part) => part !== "");
  return (
    <a
      class="alert-badge"
      data-level={isCritical ? "bad" : "warn"}
      href={hrefOf("alerts")}
      aria-label={says}
      data-tip={[says, ...quiet].join("\n")}
    >
      {count > 999 ? "999+" : count}
    </a>
  );
}
