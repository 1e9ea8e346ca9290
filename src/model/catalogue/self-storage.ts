/** Self-metrics of the hub's receivers, store and queries. */
import { histogramFaultReasons } from "../histogram/check.ts";
import { entry, type MetricEntryOptions } from "./define.ts";
import type { MetricEntry } from "./entry.ts";

/** A metric of gpulse itself. */
export const own = (name: string, draft: MetricEntryOptions): MetricEntry =>
  entry("self", name, { plausible: [0, Number.MAX_VALUE], ...draft });

export const storageSelf = {
  received: own("gpulse_received_samples_total", {
    help: "What became of what was sent to the hub: samples by outcome, and whole requests where the outcome says so.",
    labels: [
      {
        name: "way",
        help: "How it came in.",
        values: ["remote_write", "otlp", "influx", "json", "push", "scrape"],
      },
      {
        name: "outcome",
        help: "Stored, already there, refused and why, held by the agent until its clock and the hub's agree, or of a kind that is not kept.",
        values: [
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
        ],
      },
    ],
  }),
  exemplars: own("gpulse_exemplars", { help: "Exemplars that the hub holds.", resolution: 1 }),
  exemplarsReceived: own("gpulse_exemplars_received_total", {
    help: "Exemplars received by the hub.",
    labels: [
      {
        name: "outcome",
        help: "Stored, already there, or refused and why.",
        values: ["stored", "duplicate", "out_of_order", "too_new", "bad_labels"],
      },
    ],
    resolution: 1,
  }),
  hubShed: own("gpulse_hub_shed_total", {
    help: "What was more than the hub could do and was asked to retry later.",
    labels: [
      {
        name: "what",
        help: "Requests with samples, queries, pages that watch, or connections.",
        values: ["requests", "queries", "pages", "connections"],
      },
    ],
    resolution: 1,
  }),
  storeSeries: own("gpulse_store_series", { help: "Series in the store.", resolution: 1 }),
  storeSeriesLimit: own("gpulse_store_series_limit", {
    help: "Series the store may hold; beyond them new series are refused.",
    resolution: 1,
  }),
  memoryLimit: own("gpulse_memory_limit_bytes", {
    help: "Memory this hub may use, which its budgets are derived from.",
    resolution: 1,
  }),
  queryMemoryLimit: own("gpulse_query_memory_limit_bytes", {
    help: "Memory that all queries and their responses may hold together.",
    resolution: 1,
  }),
  queryMemoryReserved: own("gpulse_query_memory_reserved_bytes", {
    help: "Memory reserved by the queries now running and by responses being read.",
    resolution: 1,
  }),
  queryRefused: own("gpulse_query_refused_total", {
    help: "Queries refused for the memory they need.",
    labels: [
      {
        name: "reason",
        help: "More than one query may have, or more than the others left.",
        values: ["too_large", "busy"],
      },
    ],
    resolution: 1,
  }),
  queryWorkers: own("gpulse_query_workers", {
    help: "Threads that evaluate large queries now; they end when idle.",
    resolution: 1,
  }),
  queryWorkerQueries: own("gpulse_query_worker_queries_total", {
    help: "Queries that were evaluated in a thread of their own.",
    resolution: 1,
  }),
  queryWorkersLost: own("gpulse_query_workers_lost_total", {
    help: "Threads for large queries that ended unexpectedly, with the queries they had.",
    resolution: 1,
  }),
  storeHeadSamples: own("gpulse_store_head_samples", {
    help: "Samples not yet sealed into blocks.",
    resolution: 1,
  }),
  storeBytes: own("gpulse_store_bytes", {
    help: "Bytes of the store's blocks, rollups and log on disk.",
  }),
  storeRollupBytes: own("gpulse_store_rollup_bytes", { help: "Bytes of the store's rollups." }),
  storeRollupBehind: own("gpulse_store_rollups_behind_seconds", {
    help: "Time that sealed samples span which are not rolled up yet: some hours always, days after the first start on an older folder.",
    resolution: 1,
  }),
  storeLost: own("gpulse_store_losses", {
    help: "Parts of the store that were found lost since the start: the log names them.",
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
