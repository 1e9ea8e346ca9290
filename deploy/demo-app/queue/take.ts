// Takes jobs without losing any: a job moves atomically from its queue to the list of its worker, and is removed there only when
// its result is written. The other workers put back the jobs of a dead worker.

import { setTimeout as sleep } from "node:timers/promises";

import { type Log, reasonOf } from "../run/log.ts";
import { connectRedis, type Redis } from "./connection.ts";
import { keys, type QueueName, QUEUES } from "./job.ts";

const BLOCK_SECONDS = 1;
const AFTER_ERROR_MS = 200;

/** Only if its worker is not alive; the oldest job becomes the next in line. */
const PUT_BACK_ALL = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local moved = 0
while redis.call('LMOVE', KEYS[2], KEYS[3], 'LEFT', 'RIGHT') do moved = moved + 1 end
return moved`;

const PUT_BACK_ONE = `local found = redis.call('LREM', KEYS[1], 1, ARGV[1])
if found == 1 then redis.call('RPUSH', KEYS[2], ARGV[1]) end
return found`;

/** Puts back a job that was taken and will not be done here. */
export async function putBack(
  redis: Redis,
  queue: QueueName,
  worker: string,
  job: string,
): Promise<void> {
  const how = { keys: [keys.taken(queue, worker), keys.queue(queue)], arguments: [job] };
  await redis.eval(PUT_BACK_ONE, how);
}

/** Marks this worker as alive for `aliveMs`. */
export async function sayAlive(redis: Redis, worker: string, aliveMs: number): Promise<void> {
  const expiration = { type: "PX", value: aliveMs } as const;
  await redis.set(keys.alive(worker), "1", { expiration });
}

/** Puts back the jobs of dead workers; returns their number. */
export async function recoverJobs(redis: Redis): Promise<number> {
  let recovered = 0;
  for (const queue of QUEUES) {
    // Finds the workers by their lists: a separate registry could miss one.
    const prefix = keys.taken(queue, "");
    for await (const found of redis.scanIterator({ MATCH: `${prefix}*`, COUNT: 1_000 })) {
      for (const list of found)
        recovered += await putBackAll(redis, queue, list.slice(prefix.length));
    }
  }
  return recovered;
}

/** For a stopping worker: marks it as gone and puts back its jobs. */
export async function sayGone(redis: Redis, worker: string): Promise<void> {
  await redis.del(keys.alive(worker));
  for (const queue of QUEUES) await putBackAll(redis, queue, worker);
}

async function putBackAll(redis: Redis, queue: QueueName, worker: string): Promise<number> {
  const lists = [keys.taken(queue, worker), keys.queue(queue)];
  return Number(await redis.eval(PUT_BACK_ALL, { keys: [keys.alive(worker), ...lists] }));
}

export interface Taking {
  /** The number of jobs in progress. */
  active(): number;
  /** Takes no more jobs and waits for those in progress. */
  stop(): Promise<void>;
}

export interface TakeHow {
  readonly url: string;
  readonly redis: Redis;
  readonly queue: QueueName;
  readonly worker: string;
  readonly concurrency: number;
  readonly log: Log;
  /** Must handle its errors; the job counts as done here when it returns. */
  readonly work: (job: string) => Promise<void>;
}

export function takeJobs(how: TakeHow): Taking {
  const { redis, queue, worker, concurrency, log } = how;
  const connection = connectRedis(how.url, log, true);
  const [from, to] = [keys.queue(queue), keys.taken(queue, worker)];
  const active = new Map<string, Promise<void>>();
  const ending = new AbortController();

  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      try {
        if (active.size >= concurrency) {
          await Promise.race(active.values());
          continue;
        }
        const job = await connection.redis.blMove(from, to, "RIGHT", "LEFT", BLOCK_SECONDS);
        if (job === null) await reclaim();
        else begin(job);
      } catch (error) {
        if (ending.signal.aborted) break;
        log.debug("could not take a job", { queue, error: reasonOf(error) });
        await sleep(AFTER_ERROR_MS);
        // A job taken as the connection broke is on our list, but its reply was lost.
        await reclaim().catch((again: unknown) =>
          log.debug("could not look at what is taken", { queue, error: reasonOf(again) }),
        );
      }
    }
  };
  const begin = (job: string): void => {
    const done = how.work(job).finally(() => active.delete(job));
    active.set(job, done);
  };
  const reclaim = async (): Promise<void> => {
    for (const job of await redis.lRange(to, 0, -1)) {
      if (!active.has(job)) await putBack(redis, queue, worker, job);
    }
  };
  const running = run();
  return {
    active: () => active.size,
    stop: async () => {
      ending.abort();
      await connection.stop();
      await running;
      await Promise.all(active.values());
    },
  };
}
