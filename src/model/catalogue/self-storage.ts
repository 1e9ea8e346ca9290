/** Self-metrics of the hub's receivers, store and queries. */
import { histogramFaultReasons } from "../histogram/check.ts";
import { entry, type MetricEntryOptions } from "./define.ts";
import type { MetricEntry } from "./entry.ts";

/** A metric of gpulse itself. */
export const own = (name: string, draft: MetricEntryOptions): MetricEntry =>
  entry("self", name, { plausible: [0, Number.MAX_VALUE], ...draft });

/** Outcomes of single samples, then of other rejected parts, then of whole requests. */
export const ingestOutcomes = [
  "stored",
  "duplicate",
  "conflict",
  "too_old",
  "too_new",
  "limit",
  "bad_labels",
  "malformed",
  "exemplar",
  ...histogramFaultReasons,
  "temporality",
  "delta_out_of_order",
  "delta_limit",
  "text",
  "malformed_request",
  "unsupported_request",
  "too_large_request",
  "busy_request",
  "held_request",
  "failed_request",
] as const;

export const storageSelf = {
  received: own("gpulse_received_samples_total", {
    help: "Samples received by the hub, by outcome; outcomes that end in _request count whole requests.",
    labels: [
      {
        name: "way",
        help: "Receiver.",
        values: ["remote_write", "otlp", "influx", "json", "push", "scrape"],
      },
      {
        name: "outcome",
        help: "Stored; duplicate; refused, with the reason; held back by the agent until its clock and the hub's agree; or of a kind that is not stored.",
        values: ingestOutcomes,
      },
    ],
  }),
  exemplars: own("gpulse_exemplars", { help: "Exemplars stored in the hub.", resolution: 1 }),
  exemplarsReceived: own("gpulse_exemplars_received_total", {
    help: "Exemplars received by the hub.",
    labels: [
      {
        name: "outcome",
        help: "Stored, duplicate, or refused, with the reason.",
        values: ["stored", "duplicate", "out_of_order", "too_new", "bad_labels"],
      },
    ],
    resolution: 1,
  }),
  hubShed: own("gpulse_hub_shed_total", {
    help: "Work refused because of overload, with a retry time.",
    labels: [
      {
        name: "what",
        help: "Kind of work: requests with samples, queries, live pages, or connections.",
        values: ["requests", "queries", "pages", "connections"],
      },
    ],
    resolution: 1,
  }),
  storeSeries: own("gpulse_store_series", { help: "Series in the store.", resolution: 1 }),
  storeSeriesLimit: own("gpulse_store_series_limit", {
    help: "Maximum number of series in the store; new series above it are refused.",
    resolution: 1,
  }),
  memoryLimit: own("gpulse_memory_limit_bytes", {
    help: "Memory limit of the hub, from which its budgets are derived.",
    resolution: 1,
  }),
  queryMemoryLimit: own("gpulse_query_memory_limit_bytes", {
    help: "Memory budget of all queries and their responses together.",
    resolution: 1,
  }),
  queryMemoryReserved: own("gpulse_query_memory_reserved_bytes", {
    help: "Memory reserved by running queries and by responses being read.",
    resolution: 1,
  }),
  queryRefused: own("gpulse_query_refused_total", {
    help: "Queries refused because of the memory they need.",
    labels: [
      {
        name: "reason",
        help: "Above the limit of one query, or above what the other queries leave.",
        values: ["too_large", "busy"],
      },
    ],
    resolution: 1,
  }),
  queryWorkers: own("gpulse_query_workers", {
    help: "Worker threads for large queries; idle threads end.",
    resolution: 1,
  }),
  queryWorkerQueries: own("gpulse_query_worker_queries_total", {
    help: "Queries evaluated in a worker thread.",
    resolution: 1,
  }),
  queryWorkersLost: own("gpulse_query_workers_lost_total", {
    help: "Worker threads for large queries that ended unexpectedly; their queries failed.",
    resolution: 1,
  }),
  storeHeadSamples: own("gpulse_store_head_samples", {
    help: "Samples not yet sealed into blocks.",
    resolution: 1,
  }),
  storeBytes: own("gpulse_store_bytes", {
    help: "Bytes of the store's blocks, rollups and log on disk.",
  }),
  storeRollupBytes: own("gpulse_store_rollup_bytes", {
    help: "Bytes of the store's rollups on disk.",
  }),
  storeRollupBehind: own("gpulse_store_rollups_behind_seconds", {
    help: "Time range of sealed samples without rollups: normally some hours, days after the first start on an older folder.",
    resolution: 1,
  }),
  storeLost: own("gpulse_store_losses", {
    help: "Parts of the store found lost since the start; the log names them.",
    resolution: 1,
  }),
  storeUnreadable: own("gpulse_store_unreadable_parts", {
    help: "Parts of the store's blocks that cannot be read now. Their files stay and are read again later.",
    resolution: 1,
  }),
  storeLostSamples: own("gpulse_store_lost_samples", {
    help: "Acknowledged samples that could not be read at the start, as far as they can be counted.",
    resolution: 1,
  }),
} as const;
