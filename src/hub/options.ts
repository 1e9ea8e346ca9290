/** The parts and settings a hub is composed of. */
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
  /** A large body is an iterable of parts, generated while it is sent. */
  readonly body: string | Iterable<string | Buffer>;
  readonly contentType: string;
}

export interface HubOptions {
  readonly latest: LatestFrames;
  /** The listen address; on loopback, only requests to loopback names are accepted. */
  readonly host: string;
  readonly port: number;
  /** The public URL, if the operator configured one. */
  readonly publicUrl?: string;
  /** The name of this machine, as shown on the page. */
  readonly hostName: string;
  /** Folder of the built browser app. */
  readonly webDir: string;
  /** Folder of the built documentation site; served only if it exists. */
  readonly docsDir?: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly version: string;
  readonly metricsPage: (accept: string | undefined, nowMs: number) => MetricsPage;
  readonly stats: () => unknown;
  readonly ready: () => { readonly ready: boolean; readonly problems: readonly string[] };
  /** The Prometheus API over the hub's store; absent on a hub without storage. */
  readonly api?: ApiContext;
  /** The timeline of events; absent on a hub without storage. */
  readonly timeline?: Timeline;
  /** Imports log files into the history; absent on a hub without storage. */
  readonly importUpload?: ImportUpload;
  /** Health verdicts on all GPUs; absent if health is not evaluated. */
  readonly health?: HubHealth;
  /** The job ledger; absent if disabled. */
  readonly jobs?: HubJobs;
  /** Jobs that hold idle GPUs; absent without a policy. */
  readonly heldIdle?: HeldIdle;
  /** Energy price and emissions per kWh, for jobs. */
  readonly jobTariffs?: JobTariffs;
  /** Snapshots of this machine; absent on a hub without storage. */
  readonly snapshots?: SnapshotStore;
  /** The users' boards; absent on a hub without storage. */
  readonly boards?: BoardStore;
  /** Rules created on the page; absent if no rules are evaluated. */
  readonly ownRules?: OwnRules;
  /** Origins whose pages may embed boards in a frame; none if absent. */
  readonly embedOrigins?: readonly string[];
  /** Benchmark runs; absent on a hub without storage. */
  readonly runs?: RunStore;
  /** Pipes and replays run by the hub; absent if not supported. */
  readonly pipes?: Pipes;
  /** Analyses of the lake; absent without a lake. */
  readonly analytics?: AnalysisQueue;
  /** Access control; absent on a hub without authentication. */
  readonly access?: HubAccess;
  /** The audit log; absent on a hub without storage. */
  readonly audit?: AuditLog;
  /** TLS, and headers of a web configuration file; absent: plain HTTP. */
  readonly listener?: WebListener;
  /** Reads every configuration file again; throws if one is invalid, and the previous configuration stays in use. */
  readonly reload?: () => Promise<void>;
  /** Rate limits per client that the operator configured. */
  readonly rates?: Partial<RateLimits>;
  /** Maximum connections per address of other machines; Infinity behind a proxy. */
  readonly connectionsPerAddress?: number;
  /** Maximum number of concurrent live streams; further ones get a 503. */
  readonly maxPages?: number;
  /** Counts rejected pages and connections; absent if they are not counted. */
  readonly shedding?: OverloadMonitor;
}
