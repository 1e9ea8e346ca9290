// Receives results: each gateway subscribes to its own channel. A message sent while Redis was unavailable is found later among
// the stored results, so no client waits in vain for an existing result.

import { type Connection, connectRedis } from "../queue/connection.ts";
import { keys, parseResult, type Result } from "../queue/job.ts";
import { type Log, reasonOf } from "../run/log.ts";

export interface Replies {
  readonly name: string;
  /** The result; undefined on timeout. */
  waitFor(id: string, limitMs: number): Promise<Result | undefined>;
  problem(): string | undefined;
  stop(): Promise<void>;
}

export function listenForReplies(url: string, name: string, store: Connection, log: Log): Replies {
  const waiting = new Map<string, (result: Result | undefined) => void>();
  const connection = connectRedis(url, log, true);
  let isListening = false;
  const take = (text: string): void => {
    const result = parseResult(text);
    waiting.get(result.id)?.(result);
  };
  const lookAgain = async (): Promise<void> => {
    for (const id of waiting.keys()) {
      const kept = await store.redis.get(keys.result(id));
      if (kept !== null) take(kept);
    }
  };
  const tell = (error: unknown): void =>
    log.warn("could not look for answers that came meanwhile", { error: reasonOf(error) });
  connection.onReady(() => {
    const listening = isListening
      ? Promise.resolve()
      : connection.redis.subscribe(keys.replies(name), take);
    listening
      .then(() => (isListening = true))
      .then(lookAgain, tell)
      .catch(tell);
  });
  store.onReady(() => void lookAgain().catch(tell));
  return {
    name,
    problem: () => connection.problem() ?? (isListening ? undefined : "no answers can come yet"),
    waitFor: (id, limitMs) =>
      new Promise((resolve) => {
        const done = (result: Result | undefined): void => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(result);
        };
        const timer = setTimeout(() => done(undefined), limitMs);
        waiting.set(id, done);
      }),
    stop: () => connection.stop(),
  };
}
