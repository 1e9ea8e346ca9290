// A job's form in Redis, and the Redis keys. It carries its trace context, since the worker that takes it may be on another
// machine.

export const QUEUES = ["completions", "batch"] as const;
export type QueueName = (typeof QUEUES)[number];

export interface CompletionWork {
  readonly prompt: string;
  readonly maxTokens: number;
}

export interface BatchWork {
  readonly seconds: number;
  /** The GPU to run on; any by default. */
  readonly gpu?: number;
}

interface JobBase {
  readonly id: string;
  readonly enqueuedMs: number;
  /** When the client stops waiting; absent for a job without a waiting client. */
  readonly deadlineMs?: number;
  /** The gateway that waits for it. */
  readonly replyTo?: string;
  /** W3C trace context. */
  readonly trace: Readonly<Record<string, string>>;
}

export type Job =
  | (JobBase & { readonly queue: "completions"; readonly work: CompletionWork })
  | (JobBase & { readonly queue: "batch"; readonly work: BatchWork });

export type Outcome = "ok" | "failed" | "expired";

export interface Result {
  readonly id: string;
  readonly queue: QueueName;
  readonly outcome: Outcome;
  /** The model server's response, or the reason why there is none. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly finishedMs: number;
}

export const keys = {
  queue: (queue: QueueName): string => `demo:queue:${queue}`,
  /** The jobs that a worker has taken and not finished. */
  taken: (queue: QueueName, worker: string): string => `demo:taken:${queue}:${worker}`,
  /** Expires unless the worker renews it. */
  alive: (worker: string): string => `demo:alive:${worker}`,
  result: (id: string): string => `demo:result:${id}`,
  replies: (gateway: string): string => `demo:replies:${gateway}`,
  idle: (gpu: number): string => `demo:idle:${gpu}`,
};

/** Only this application writes these keys, so valid JSON is not validated further. */
export function parseJob(text: string): Job {
  return JSON.parse(text) as Job;
}

export function parseResult(text: string): Result {
  return JSON.parse(text) as Result;
}

/** How long the oldest job has waited; undefined for an empty queue. A clock behind the writer's counts as 0. */
export function waitedSeconds(oldest: string | null, nowMs: number): number | undefined {
  if (oldest === null) return undefined;
  return Math.max(0, nowMs - parseJob(oldest).enqueuedMs) / 1000;
}

/** Retry-After of a rejected client: the time to work off the queue's excess, 1 to 30 s. */
export function retryAfterSeconds(depth: number, limit: number, perSecond: number): number {
  const excess = Math.max(1, depth - limit / 2);
  return Math.min(30, Math.max(1, Math.ceil(excess / Math.max(perSecond, 1))));
}
