/** Dependencies of the Prometheus API. */
import type { Log } from "../../base/log.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { History, SampleWriter } from "../../storage/history.ts";
import type { QueryMemory } from "../../query/memory.ts";
import type { ExemplarStore } from "../../storage/exemplars/exemplar-store.ts";
import type { Store } from "../../storage/embedded/store.ts";
import type { Agents } from "../agents/agents.ts";
import type { AlertingEngine } from "../alerts/alerting.ts";
import type { IngestOptions } from "../receive/intake.ts";
import type { ReceiverCounts } from "../receive/receiver-counts.ts";
import type { MemoryBudgets } from "../limits/memory.ts";
import type { OverloadMonitor } from "../limits/overload.ts";
import type { MetadataRegistry } from "./metadata.ts";
import type { ScrapeRunner } from "./targets.ts";

/** All data as Parquet, for SQL. */
export interface HubLake {
  /** A folder, s3://… or webhdfs://…. */
  readonly place: string;
  /** Resolves when the files hold everything accepted so far. */
  flush(signal: AbortSignal): Promise<void>;
}

export interface ApiContext {
  /** Reads go straight to storage. */
  readonly history: History;
  /** Writes go to storage and from there to the sinks. */
  readonly writer: SampleWriter;
  /** The embedded store, if the history is one, for operations only it supports. */
  readonly store?: Store;
  /** The memory budget shared by queries; absent if unlimited. */
  readonly queryMemory?: QueryMemory;
  /** How the process's memory is divided; absent in tests. */
  readonly budgets?: MemoryBudgets;
  /** Number of threads that decode received requests; a default for this machine if absent. */
  readonly ingestWorkers?: number | undefined;
  /** How native histograms and start times are received; Prometheus's defaults if absent. */
  readonly ingest?: IngestOptions | undefined;
  readonly metadata: MetadataRegistry;
  /** Absent if exemplars are not stored. */
  readonly exemplars?: ExemplarStore;
  /** URL template for a trace, with `{trace_id}` or another exemplar label in braces. */
  readonly traceUrl?: string | undefined;
  readonly received: ReceiverCounts;
  /** Counts rejected queries; absent if they are not counted. */
  readonly shedding?: OverloadMonitor;
  /** The agents that push to this hub; absent if agents are not accepted. */
  readonly agents?: Agents;
  /** Absent if nothing is scraped. */
  readonly scraping?: ScrapeRunner;
  /** Rules and their alerts; absent on a hub that evaluates none. */
  readonly alerting?: AlertingEngine;
  /** Absent on a hub without a lake. */
  readonly lake?: HubLake;
  /** Extracts GPU series from received samples for the live view; absent if they are not shown. */
  readonly pushed?: { take(batch: SampleBatch): void };
  /** The name of this machine, which replaces loopback in URLs for other machines. */
  readonly hostName?: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
  readonly startedMs: number;
  readonly retention: string;
  readonly dataDir: string;
}
