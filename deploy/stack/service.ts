// The declaration of a service of the stack, and the supervisor's state of it while it runs.

/** How to check that it responds. */
export type HealthCheck =
  | { readonly kind: "http"; readonly url: string }
  | { readonly kind: "tcp"; readonly port: number };

export interface Service {
  readonly name: string;
  readonly summary: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The address at which people and programs use it. */
  readonly address: string;
  readonly health: HealthCheck;
  /** The services that must respond before it is started. */
  readonly dependsOn: readonly string[];
  readonly memoryLimitBytes: number;
  /** Runs before every start: folders, files, an initial database. */
  readonly prepare?: () => Promise<void>;
  /** SIGTERM by default. */
  readonly stopSignal?: NodeJS.Signals;
}

/** A service that cannot run here, with the reason. */
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
  /** Its last output, or the reason for its state. */
  readonly lastWord: string;
}
