/** Self-metrics of the hub's store, queries and receivers. */
import { self } from "../model/catalogue/index.ts";
import type { PutMetric } from "../model/self-frames.ts";
import { exemplarOutcomes } from "../storage/exemplars/exemplar-store.ts";
import type { Store } from "../storage/embedded/store.ts";
import type { ApiContext } from "./api/context.ts";
import { receiverOutcomes, receiverNames } from "./receive/receiver-counts.ts";

/** Without an embedded store, its metrics are missing. */
export function collectHub(
  put: PutMetric,
  store: Store | undefined,
  { received, exemplars, queryMemory }: Pick<ApiContext, "received" | "exemplars" | "queryMemory">,
): void {
  put(self.exemplars, exemplars?.size);
  for (const outcome of exemplarOutcomes)
    put(self.exemplarsReceived, exemplars?.count(outcome), { outcome });
  for (const way of receiverNames)
    for (const outcome of receiverOutcomes[way])
      put(self.received, received.count(way, outcome), { way, outcome });
  const stats = store?.stats();
  put(self.storeSeries, stats?.series);
  put(self.storeSeriesLimit, stats?.maxSeries);
  put(self.queryMemoryLimit, queryMemory?.limits.totalBytes);
  put(self.queryMemoryReserved, queryMemory?.bytes);
  put(self.queryRefused, queryMemory?.refused.tooLarge, { reason: "too_large" });
  put(self.queryRefused, queryMemory?.refused.busy, { reason: "busy" });
  if (stats === undefined) return;
  put(self.queryWorkers, stats.queryWorkers.running);
  put(self.queryWorkerQueries, stats.queryWorkers.queries);
  put(self.queryWorkersLost, stats.queryWorkers.lost);
  put(self.storeHeadSamples, stats.headSamples);
  const { blockBytes, removedBytes, logBytes, rollups } = stats;
  put(self.storeBytes, blockBytes + removedBytes + logBytes + rollups.bytes);
  put(self.storeRollupBytes, rollups.bytes);
  put(self.storeRollupBehind, rollups.behindMs / 1_000);
  put(self.storeLost, stats.lost.length - stats.unreadable);
  put(self.storeUnreadable, stats.unreadable);
  put(self.storeLostSamples, stats.lostSamples);
}
