// What a service of the stack is: one declaration each, and what the supervisor knows of it while it runs.

/** How one finds out that it answers. */
export type HealthCheck =
  | { readonly kind: "http"; readonly url: string }
  | { readonly kind: "tcp"; readonly port: number };

export interface Service {
  readonly name: string;
  readonly summary: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Where people and programs reach it. */
  readonly address: string;
  readonly health: HealthCheck;
  /** Started only once these have answered. */
  readonly dependsOn: readonly string[];
  readonly memoryLimitBytes: number;
  /** Before every start: folders, files, a first database. */
  readonly prepare?: () => Promise<void>;
  /** SIGTERM by default. */
  readonly stopSignal?: NodeJS.Signals;
}

/** A service that cannot run here, and why. */
export interface SkippedService {
  readonly name: string;
  readonly summary: string;
  readonly skipped: string;
}

export type Declared = Service | SkippedService;

export const isSkipped = (declared: Declared): declared is SkippedService => "skipped" in declared;

export type State =
  | "waiting"
  | "starting"
  | "healthy"
  | "unhealthy"
  | "restarting"
  | "held"
  | "stopping"
  | "stopped"
  | "skipped";

export interface ServiceStatus {
  readonly name: string;
  readonly state: State;
  readonly pid?: number;
  readonly address: string;
  readonly startedMs?: number;
  readonly restarts: number;
  /** What it said last, or why it is in this state. */
  readonly lastWord: string;
}
