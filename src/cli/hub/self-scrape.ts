/** Puts what the hub says about itself into its own store, every 15 s, as a scrape of it would. */
import type { Collector } from "../../agent/collector.ts";
import { labelSet } from "../../model/labels.ts";
import type { History } from "../../history/history.ts";
import type { Log } from "../../log/log.ts";
import { sayError } from "../../errors/error.ts";

const everyMs = 15_000;

export function startSelfScrape(
  collector: Collector,
  history: History,
  host: string,
  log: Log,
): { close(): void } {
  const labels = labelSet({ job: "gpulse-hub", instance: `${host}:9410` });
  const scrape = (): void =>
    void history
      .frames({ frame: collector.selfFrame(), source: "self", tier: "self" }, labels)
      .catch((thrown: unknown) =>
        log.warn("the hub's own metrics were not kept", { trouble: sayError(thrown) }),
      );
  scrape();
  const timer = setInterval(scrape, everyMs);
  return { close: () => clearInterval(timer) };
}
