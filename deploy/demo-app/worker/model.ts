// Requests to the model server: a completion is retried if the server did not respond; a batch job is ordered by its id, which
// makes ordering idempotent, and then polled until it is done.

import { setTimeout as sleep } from "node:timers/promises";

import type { BatchWork, CompletionWork } from "../queue/job.ts";
import { reasonOf } from "../run/log.ts";
import { contextHeaders } from "../run/tracing.ts";

const ATTEMPTS = 3;
const BETWEEN_ATTEMPTS_MS = 250;
const LOOK_MS = 500;
/** Consecutive polls without a response after which a batch job has failed: about a minute. */
const MOST_SILENT_LOOKS = 120;

export class ModelError extends Error {}

type Body = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly body: Body;
}

export async function complete(url: string, work: CompletionWork, limitMs: number): Promise<Body> {
  const body = { prompt: work.prompt, max_tokens: work.maxTokens };
  const signal = AbortSignal.timeout(limitMs);
  let reason = "";
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (attempt > 1) await sleep(BETWEEN_ATTEMPTS_MS);
    try {
      const answer = await ask("POST", `${url}/v1/completions`, body, signal);
      if (answer.status < 300) return answer.body;
      reason = `the model server answered ${answer.status}: ${JSON.stringify(answer.body)}`;
      if (answer.status < 500) break;
    } catch (error) {
      reason = `the model server did not answer: ${reasonOf(error)}`;
      if (signal.aborted) break;
    }
  }
  throw new ModelError(reason);
}

/** @param stopping ends the wait, not the job: the next worker finds it in progress */
export async function train(
  url: string,
  id: string,
  work: BatchWork,
  stopping: AbortSignal,
): Promise<Body> {
  let silent = 0;
  for (;;) {
    try {
      // Repeating the order polls the state; it also works if the server was restarted and lost the job.
      const answer = await ask("PUT", `${url}/v1/batch/${id}`, work, stopping);
      silent = 0;
      if (answer.body["status"] === "done") return answer.body;
      if (answer.status >= 400)
        throw new ModelError(`the model server answered ${answer.status} to a batch job`);
    } catch (error) {
      if (stopping.aborted || error instanceof ModelError) throw error;
      silent += 1;
      if (silent > MOST_SILENT_LOOKS)
        throw new ModelError(`the model server did not answer: ${reasonOf(error)}`, {
          cause: error,
        });
    }
    await sleep(LOOK_MS, undefined, { signal: stopping });
  }
}

async function ask(
  method: string,
  url: string,
  body: unknown,
  signal: AbortSignal,
): Promise<Answer> {
  const headers = { "content-type": "application/json", ...contextHeaders() };
  const response = await fetch(url, { method, headers, body: JSON.stringify(body), signal });
  return { status: response.status, body: (await response.json()) as Body };
}
