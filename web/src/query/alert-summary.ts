/** Counts of firing, silenced and inhibited alerts: first from the HTML, then refreshed by the badge. */
import { signal } from "@preact/signals";
import type { AlertSummary } from "../../../src/view/alert-summary.ts";

/** Undefined until the hub has responded: unknown differs from none. */
export const alertSummary = signal<AlertSummary | undefined>(undefined);
