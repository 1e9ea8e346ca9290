// Adds jobs to a bounded queue: a job beyond the limit is rejected. The length check and the push are atomic, so that several
// gateways together keep the limit.

import type { Redis } from "./connection.ts";
import { type Job, keys, type QueueName, waitedSeconds } from "./job.ts";

const OFFER = `local depth = redis.call('LLEN', KEYS[1])
if depth >= tonumber(ARGV[1]) then return depth end
redis.call('LPUSH', KEYS[1], ARGV[2])
return -1`;

/** Undefined if the job was queued; otherwise the number of waiting jobs. */
export async function offer(redis: Redis, job: Job, limit: number): Promise<number | undefined> {
  const how = { keys: [keys.queue(job.queue)], arguments: [`${limit}`, JSON.stringify(job)] };
  const depth = Number(await redis.eval(OFFER, how));
  return depth === -1 ? undefined : depth;
}

export interface QueueState {
  readonly depth: number;
  /** How long the next one has waited; 0 if nothing waits. */
  readonly oldestSeconds: number;
}

export async function queueState(
  redis: Redis,
  queue: QueueName,
  nowMs: number,
): Promise<QueueState> {
  const [depth, oldest] = await Promise.all([
    redis.lLen(keys.queue(queue)),
    redis.lIndex(keys.queue(queue), -1),
  ]);
  return { depth, oldestSeconds: waitedSeconds(oldest, nowMs) ?? 0 };
}
