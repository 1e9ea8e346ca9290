/**
 * The time from a reading to a painted page and to a notification, beside Prometheus with a page that polls it and beside
 * Prometheus with Alertmanager, everything at one second and at the same time.
 */
import { browserLatency } from "./latency-browser.ts";
import { notificationLatency } from "./latency-notify.ts";
import { type Area, line } from "./measurement.ts";

const waiting =
  "nearly all of it is waiting for the next scrape and the next evaluation, which lie in the second as their names fall; on a busy machine the hub's one thread comes to them later.";
const alerting = "Prometheus and Alertmanager";

export const latency: Area = {
  name: "latency",
  title: "From a reading to a person",
  about:
    "one agent with `sim:8` at 1 s pushes to a hub and is scraped by Prometheus every second; a browser has the hub's page open and one that asks Prometheus every second, and both note when a reading is painted. For notifications a value crosses a threshold at a random moment: hub and Prometheus scrape it and evaluate the rule every second with the same rule file, hub and Alertmanager route with the same alertmanager.yml (`group_wait: 0s`) to the same webhook and mail server; the third line writes the value to the hub as it crosses, as an agent pushes. Medians.",
  measurements: [
    line(
      "latency.browser",
      "reading to painted page",
      "Prometheus, page polling every second",
      "time",
      "ms",
      { behind: waiting },
    ),
    line("latency.webhook", "value scraped, to a webhook", alerting, "time", "ms", {
      behind: waiting,
    }),
    line("latency.email", "value scraped, to a mail server", alerting, "time", "ms", {
      behind: waiting,
    }),
    line("latency.pushed", "value pushed, to a webhook", `${alerting}, scraping`, "time", "ms", {
      behind: waiting,
    }),
  ],
  measure: async (context) => {
    await browserLatency(context);
    await notificationLatency(context);
  },
};
