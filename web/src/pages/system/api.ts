/** The hub's own status, as its API returns it. */

export interface ApiAgent {
  readonly id: string;
  readonly state: "ok" | "late" | "silent" | "stopped";
  readonly host: string;
  readonly version: string;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly intervalSeconds: number;
  readonly gpus?: number;
  readonly lagSeconds?: number;
  readonly clockDifferenceSeconds?: number;
  readonly clockDifferenceBoundSeconds?: number;
  readonly spool?: {
    readonly records: number;
    readonly bytes: number;
    readonly lostRecords: number;
  };
  readonly contested: boolean;
  /** True if the agent holds its frames back because its clock and the hub's differ; absent from earlier hubs. */
  readonly held?: boolean;
}

export interface AgentsResponse {
  readonly agents: readonly ApiAgent[];
}

export interface ApiTarget {
  readonly scrapePool: string;
  readonly scrapeUrl: string;
  readonly health: "up" | "down" | "unknown";
  readonly lastError: string;
  readonly lastScrape: string;
  readonly lastScrapeDuration: number;
  readonly scrapeInterval: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface TargetsResponse {
  readonly data: {
    readonly activeTargets: readonly ApiTarget[];
    /** Jobs that were loaded but are not scraped. */
    readonly inactivePools?: readonly { readonly scrapePool: string; readonly reason: string }[];
  };
}

export interface ApiToken {
  readonly id: string;
  readonly name: string;
  readonly scope: "push" | "read" | "admin";
  readonly state: "live" | "revoked" | "expired";
  readonly created: string;
  readonly expires: string | null;
  readonly lastUsed: string | null;
}

export interface CreatedToken extends ApiToken {
  /** Shown once. */
  readonly token: string;
  /** Created together with the very first token, so that its creator stays logged in. */
}

export interface ApiPipe {
  readonly id: string;
  readonly name: string;
  readonly kind: "pipe" | "replay";
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly options: {
    readonly speed?: string;
    readonly loop?: boolean;
    readonly now?: boolean;
  };
  readonly wanted: "running" | "stopped";
  readonly state: "running" | "waiting" | "stopping" | "stopped" | "done" | "failed";
  readonly since: string;
  readonly restarts: number;
  readonly frames: number | null;
  readonly deadLetters: number | null;
  readonly lagSeconds: number | null;
  readonly lagRecords: number | null;
  readonly trouble: { readonly text: string; readonly at: string } | null;
}

export interface PipesResponse {
  readonly pipes: readonly ApiPipe[];
}

export interface TokensResponse {
  readonly tokens: readonly ApiToken[];
  /** Names in the web configuration file. */
  readonly users: readonly string[];
  /** True if changes currently need a token. */
  readonly asked: boolean;
}

export interface ApiUser {
  readonly name: string;
  readonly role: "viewer" | "admin";
  readonly state: "live" | "disabled";
  readonly created: string;
  readonly passwordChanged: string;
  readonly lastLogin: string | null;
  readonly sessions: number;
}

export interface UsersResponse {
  readonly users: readonly ApiUser[];
  /** Names in the web configuration file. */
  readonly fileUsers: readonly string[];
  readonly asked: boolean;
}

export interface ApiSession {
  readonly id: string;
  readonly name: string;
  readonly how: "user" | "oidc" | "token" | "file-user";
  readonly scope: "read" | "admin";
  readonly opened: string;
  readonly seen: string;
  readonly ends: string;
  /** True for the session of this request. */
  readonly own: boolean;
}

export interface SessionsResponse {
  readonly sessions: readonly ApiSession[];
}

export interface ApiShare {
  readonly id: string;
  readonly name: string;
  readonly page: string;
  readonly state: "live" | "revoked" | "expired";
  readonly createdBy: string;
  readonly expires: string;
  readonly opened: number;
  readonly lastOpened: string | null;
}

export interface SharesResponse {
  readonly shares: readonly ApiShare[];
}
