/** What composes a hub. */
import type { AuditLog } from "../access/audit.ts";
import type { Log } from "../base/log.ts";
import type { WebListener } from "../net/http/web-listener.ts";
import type { AnalysisQueue } from "./analytics/queue.ts";
import type { ApiContext } from "./api/context.ts";
import type { OwnRules } from "./alerts/own-rules.ts";
import type { BoardStore } from "./boards/store.ts";
import type { HubAccess } from "./auth/authenticator.ts";
import type { HubHealth } from "./health/health.ts";
import type { Timeline } from "./events/timeline.ts";
import type { HeldIdle } from "./jobs/held-idle/held-idle.ts";
import type { HubJobs } from "./jobs/jobs.ts";
import type { JobTariffs } from "./jobs/routes.ts";
import type { ImportUpload } from "./receive/import.ts";
import type { RateLimits } from "./limits/rate.ts";
import type { Pipes } from "./pipes/pipes.ts";
import type { RunStore } from "./runs/store.ts";
import type { OverloadMonitor } from "./limits/overload.ts";
import type { SnapshotStore } from "./snapshots/store.ts";
import type { LatestFrames } from "../sinks/latest/latest.ts";

export interface MetricsPage {
  /** In parts where it may be large: they are made as they are sent. */
  readonly body: string | Iterable<string | Buffer>;
  readonly contentType: string;
}

export interface HubOptions {
  readonly latest: LatestFrames;
  /** The address to listen on; on loopback only loopback names are answered. */
  readonly host: string;
  readonly port: number;
  /** Under which address people reach it, where the operator said so. */
  readonly publicUrl?: string;
  /** The name of this machine as the page shows it. */
  readonly hostName: string;
  /** Where the built browser app is. */
  readonly webDir: string;
  /** The built documentation site; served only if it is there. */
  readonly docsDir?: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
  readonly metricsPage: (accept: string | undefined, nowMs: number) => MetricsPage;
  readonly stats: () => unknown;
  readonly ready: () => { readonly ready: boolean; readonly problems: readonly string[] };
  /** The Prometheus API over the hub's store; absent on a hub that keeps nothing. */
  readonly api?: ApiContext;
  /** What happened; absent on a hub that keeps nothing. */
  readonly timeline?: Timeline;
  /** Takes a log file into the history; absent on a hub that keeps nothing. */
  readonly importUpload?: ImportUpload;
  /** The verdicts on all GPUs; absent where nothing is judged. */
  readonly health?: HubHealth;
  /** The job ledger; absent where none is kept. */
  readonly jobs?: HubJobs;
  /** Jobs that hold idle GPUs; absent without a policy. */
  readonly heldIdle?: HeldIdle;
  /** What the energy of jobs costs and emits. */
  readonly jobTariffs?: JobTariffs;
  /** Snapshots of this machine; absent on a hub that keeps nothing. */
  readonly snapshots?: SnapshotStore;
  /** Boards that people arranged; absent on a hub that keeps nothing. */
  readonly boards?: BoardStore;
  /** Rules made on the page; absent where nothing is evaluated. */
  readonly ownRules?: OwnRules;
  /** Origins whose pages may embed boards in a frame; none where absent. */
  readonly embedOrigins?: readonly string[];
  /** Benchmark runs; absent on a hub that keeps nothing. */
  readonly runs?: RunStore;
  /** Pipes and replays that run with the hub; absent where none can be started. */
  readonly pipes?: Pipes;
  /** Analyses of the lake; absent on a hub that keeps none. */
  readonly analytics?: AnalysisQueue;
  /** Who may do what; absent where nobody is asked. */
  readonly access?: HubAccess;
  /** Where it is noted who changed what; absent where nothing is kept. */
  readonly audit?: AuditLog;
  /** TLS, and headers of a web configuration file; absent: plain HTTP. */
  readonly listener?: WebListener;
  /** Reads every configuration file again; throws with what is wrong, and what was in use stays in use. */
  readonly reload?: () => Promise<void>;
  /** How often one client may ask, where the operator said it. */
  readonly rates?: Partial<RateLimits>;
  /** Connections that one address beyond this machine may hold; Infinity behind a proxy. */
  readonly connectionsPerAddress?: number;
  /** Pages that may watch at once; more get a 503. */
  readonly maxPages?: number;
  /** Hears of pages and connections that are rejected; absent where nobody counts them. */
  readonly shedding?: OverloadMonitor;
}
