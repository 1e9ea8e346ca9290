/** Puts what the hub says about itself into its own store, every 15 s, as a scrape of it would. */
import type { Collector } from "../../agent/collector.ts";
import { labelSet } from "../../model/labels.ts";
import type { Store } from "../../store/store.ts";

const everyMs = 15_000;

/** The returned function ends it. */
export function startSelfScrape(collector: Collector, store: Store, host: string): () => void {
  const labels = labelSet({ job: "gpulse-hub", instance: `${host}:9410` });
  const scrape = (): void =>
    void store.frames({ frame: collector.selfFrame(), source: "self", tier: "self" }, labels);
  scrape();
  const timer = setInterval(scrape, everyMs);
  return () => clearInterval(timer);
}
