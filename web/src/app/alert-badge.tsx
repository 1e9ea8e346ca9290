/** How many alerts fire that somebody should look at, which those of severity info are not: in the header of every page, and before the title of the tab. */
import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useNow } from "../query/use-fetch.ts";
import { hrefOf } from "../view-state/address.ts";

const EVERY_MS = 10_000;
const QUERY = 'count by (severity) (ALERTS{alertstate="firing",severity!="info"})';

/** Undefined until the hub has answered: unknown is not none. */
const firing = signal<ReadonlyMap<string, number> | undefined>(undefined);

export const firingCount = computed(() =>
  firing.value === undefined
    ? undefined
    : [...firing.value.values()].reduce((sum, count) => sum + count, 0),
);

export function AlertBadge() {
  const { value } = useNow(QUERY, EVERY_MS);
  useEffect(() => {
    if (value !== undefined)
      firing.value = new Map(
        value.samples.map((one) => [one.labels["severity"] ?? "", one.value] as const),
      );
  }, [value]);
  const count = firingCount.value ?? 0;
  if (count === 0) return null;
  const isCritical = ["critical", "page", "error"].some((one) => (firing.value?.get(one) ?? 0) > 0);
  const says = `${count} ${count === 1 ? "alert fires" : "alerts fire"}`;
  return (
    <a
      class="alert-badge"
      data-level={isCritical ? "bad" : "warn"}
      href={hrefOf("alerts")}
      aria-label={says}
      data-tip={says}
    >
      {count > 999 ? "999+" : count}
    </a>
  );
}
