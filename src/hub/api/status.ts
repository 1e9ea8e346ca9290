/** `status/…`, and Prometheus endpoints without data here: those return an empty response in its format, so that clients continue. */
import type { FastifyInstance } from "fastify";
import { formatDuration } from "../../config/duration.ts";
import { buildCommit } from "../../base/build-info.ts";
import type { ApiContext } from "./context.ts";
import { addDataRoute } from "./result.ts";
import type { MemoryBudgets } from "../limits/memory.ts";

/** Returns no `retentionRules` key if there are none, as Prometheus has no such key. */
function retentionRules({ store }: ApiContext) {
  const rules = store?.stats().rules() ?? [];
  if (rules.length === 0) return {};
  return {
    retentionRules: rules.map((rule) => ({
      match: rule.match,
      retention: formatDuration(rule.retentionMs),
      rollupRetention: formatDuration(rule.rollupRetentionMs),
      series: rule.series,
      ...(rule.removedBeforeMs !== undefined && {
        removedBefore: new Date(rule.removedBeforeMs).toISOString(),
      }),
    })),
  };
}

export function addStatus(app: FastifyInstance, context: ApiContext): void {
  addDataRoute(app, "/api/v1/status/buildinfo", () => ({
    // Clients choose API features by this version: it is that of the Prometheus whose query language and API are implemented.
    version: "3.8.0",
    revision: `gpulse-${context.version}`,
    branch: "",
    buildUser: "",
    buildDate: "",
    goVersion: "",
    gpulse: context.version,
    commit: buildCommit(),
  }));
  addDataRoute(app, "/api/v1/status/runtimeinfo", () => {
    return {
      startTime: new Date(context.startedMs).toISOString(),
      CWD: context.dataDir,
      reloadConfigSuccess: context.scraping?.loaded.ok ?? true,
      lastConfigTime: new Date(context.scraping?.loaded.timeMs ?? context.startedMs).toISOString(),
      corruptionCount: context.store?.stats().lost.length ?? 0,
      storageRetention: context.retention,
      ...retentionRules(context),
      ...(context.budgets === undefined ? {} : { memory: memoryJson(context.budgets) }),
    };
  });
  addDataRoute(app, "/api/v1/status/flags", () => ({
    "storage.tsdb.retention.time": context.retention,
    "storage.tsdb.path": context.dataDir,
    ...(context.traceUrl === undefined ? {} : { "gpulse.trace-url": context.traceUrl }),
  }));
  addDataRoute(app, "/api/v1/status/config", () => ({ yaml: context.scraping?.yaml ?? "" }));
  addDataRoute(app, "/api/v1/status/walreplay", () => ({
    min: 0,
    max: 0,
    current: 0,
    state: "done",
  }));
  addDataRoute(app, "/api/v1/status/tsdb", (params) => {
    const limit = params.limit();
    if (context.store === undefined) return emptyHead;
    const stats = context.store.stats();
    const counts = stats.cardinality(limit === 0 ? 10 : limit);
    return {
      headStats: {
        numSeries: stats.series,
        maxSeries: stats.maxSeries,
        numLabelPairs: counts.labelPairs,
        chunkCount: stats.headTimebases,
        minTime: stats.minTimeMs,
        maxTime: stats.maxTimeMs,
      },
      seriesCountByMetricName: counts.seriesCountByMetricName,
      labelValueCountByLabelName: counts.labelValueCountByLabelName,
      memoryInBytesByLabelName: counts.memoryInBytesByLabelName,
      seriesCountByLabelValuePair: counts.seriesCountByLabelValuePair,
    };
  });
}

const memoryJson = ({ limit, ...budgets }: MemoryBudgets): unknown => ({
  limitBytes: limit.bytes,
  from: limit.origin,
  ...budgets,
});

/** Placeholder for histories in an external engine, which reports its own cardinality. */
const emptyHead = {
  headStats: { numSeries: 0, numLabelPairs: 0, chunkCount: 0, minTime: 0, maxTime: 0 },
  seriesCountByMetricName: [],
  labelValueCountByLabelName: [],
  memoryInBytesByLabelName: [],
  seriesCountByLabelValuePair: [],
};
