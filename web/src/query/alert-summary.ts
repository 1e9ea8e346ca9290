/** How many alerts fire, silenced and inhibited ones apart: in the HTML at first, then read again by the badge. */
import { signal } from "@preact/signals";
import type { AlertSummary } from "../../../src/view/alert-summary.ts";

/** Undefined until the hub has answered: unknown is not none. */
export const alertSummary = signal<AlertSummary | undefined>(undefined);
