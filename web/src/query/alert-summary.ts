/** How many alerts fire, silenced and inhibited ones apart. In the HTML at first, then asked for again and again. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AlertSummary } from "../../../src/view/alert-summary.ts";
import { useJson } from "./use-fetch.ts";

const EVERY_MS = 10_000;

/** Undefined until the hub has answered: unknown is not none. */
export const alertSummary = signal<AlertSummary | undefined>(undefined);

/** Asks for it while the component is there. */
export function useAlertSummary(): AlertSummary | undefined {
  const { value } = useJson<AlertSummary>("api/alert-summary", EVERY_MS);
  useEffect(() => {
    if (value !== undefined) alertSummary.value = value;
  }, [value]);
  return alertSummary.value;
}
