/** What the Prometheus API stands on. */
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

/** Where everything is as Parquet, for SQL. */
export interface HubLake {
  /** A folder, s3://… or webhdfs://…. */
  readonly place: string;
  /** When it resolves, the files hold everything accepted so far. */
  flush(signal: AbortSignal): Promise<void>;
}

export interface ApiContext {
  /** Reads go straight to storage. */
  readonly history: History;
  /** Writes go to storage and from there to the sinks. */
  readonly writer: SampleWriter;
  /** The embedded store, where the history is one: what only it can tell and do. */
  readonly store?: Store;
  /** The memory that queries share; absent where it is not limited. */
  readonly queryMemory?: QueryMemory;
  /** How the process's memory is divided; absent where nobody has decided it (tests). */
  readonly budgets?: MemoryBudgets;
  /** Threads that decode received requests; a default for this machine where absent. */
  readonly ingestWorkers?: number | undefined;
  /** How native histograms and start times are received; Prometheus's defaults where absent. */
  readonly ingest?: IngestOptions | undefined;
  readonly metadata: MetadataRegistry;
  /** Absent where exemplars are not stored. */
  readonly exemplars?: ExemplarStore;
  /** The page of a trace, with `{trace_id}` or another label of an exemplar in braces. */
  readonly traceUrl?: string | undefined;
  readonly received: ReceiverCounts;
  /** Hears of every query that is rejected; absent where nobody counts them. */
  readonly shedding?: OverloadMonitor;
  /** The agents that push here; absent where none may. */
  readonly agents?: Agents;
  /** What is scraped; absent where nothing is. */
  readonly scraping?: ScrapeRunner;
  /** Rules and what they found; absent on a hub that evaluates none. */
  readonly alerting?: AlertingEngine;
  /** Absent on a hub that keeps none. */
  readonly lake?: HubLake;
  /** Reads the GPU series among received samples; absent where nobody shows them. */
  readonly pushed?: { take(batch: SampleBatch): void };
  /** The name of this machine, by which others reach what it reaches on loopback. */
  readonly hostName?: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
  readonly startedMs: number;
  readonly retention: string;
  readonly dataDir: string;
}
