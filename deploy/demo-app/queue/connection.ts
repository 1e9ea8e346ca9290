// A Redis connection that reconnects by itself. While it is down commands fail at once instead of queueing, so that the caller
// can report it.

import { createClient } from "redis";

import { type Log, reasonOf } from "../run/log.ts";

const COMMAND_LIMIT_MS = 5_000;

export type Redis = ReturnType<typeof clientFor>;

export interface Connection {
  readonly redis: Redis;
  /** Why it is disconnected; undefined while connected. */
  problem(): string | undefined;
  /** Runs now if connected, and after every reconnect. */
  onReady(run: () => void): void;
  stop(): Promise<void>;
}

/** @param blocking for a connection with blocking commands, which no timeout may interrupt */
export function connectRedis(url: string, log: Log, blocking = false): Connection {
  const redis = clientFor(url, blocking);
  let problem: string | undefined = "Redis is not connected yet";
  redis.on("ready", () => {
    log.info("Redis is there");
    problem = undefined;
  });
  redis.on("error", (error: unknown) => {
    // Failed reconnects raise repeated errors: one log line is enough.
    if (problem === undefined) log.warn("Redis is away", { error: reasonOf(error) });
    problem = `Redis is away: ${reasonOf(error)}`;
  });
  // Fails only if it is stopped while Redis is down, when nobody needs the error.
  redis.connect().catch((error: unknown) => {
    problem = `Redis is away: ${reasonOf(error)}`;
  });
  return {
    redis,
    problem: () => (redis.isReady ? undefined : (problem ?? "Redis is away")),
    onReady: (run) => {
      redis.on("ready", run);
      if (redis.isReady) run();
    },
    stop: async () => {
      if (redis.isOpen) redis.destroy();
    },
  };
}

function clientFor(url: string, blocking: boolean) {
  return createClient({
    url,
    disableOfflineQueue: true,
    socket: {
      connectTimeout: 5_000,
      reconnectStrategy: (retries) => Math.min(1_000, 50 * (retries + 1)),
    },
    ...(blocking ? {} : { commandOptions: { timeout: COMMAND_LIMIT_MS } }),
  });
}
