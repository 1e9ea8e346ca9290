/**
 * Limits concurrent explanations and change searches, which read some millions of samples each: few run at once, some queue,
 * the rest get 503 with Retry-After.
 */
import type { FastifyReply } from "fastify";
import { QueryError } from "../../query/errors.ts";
import { sendError } from "../reply.ts";

const mostAtOnce = 2;
const mostWaiting = 16;
const retryAfterSeconds = 2;

export class ExplainTurns {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Runs the work when a slot is free. The signal is aborted when the client disconnects. */
  async run(
    reply: FastifyReply,
    work: (signal: AbortSignal) => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    if (this.#waiting.length >= mostWaiting)
      return sendError(
        reply.header("retry-after", retryAfterSeconds),
        503,
        "Too many explanations at once: try again in a moment.",
      );
    const abort = new AbortController();
    reply.raw.once("close", () => abort.abort());
    if (this.#running >= mostAtOnce)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#running += 1;
    try {
      return await work(abort.signal);
    } catch (thrown) {
      if (thrown instanceof QueryError) return await sendError(reply, 503, thrown.message);
      throw thrown;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }
}
