/**
 * Limits large responses in progress: their bytes waiting for clients in total and per client, and the time a client may take.
 * A response that is not read must not stay in memory.
 */
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { networkOf } from "../../access/failures.ts";
import type { Log } from "../../base/log.ts";

export interface ResponseLimits {
  /** For all clients together. */
  readonly pendingBytes: number;
  /** Smaller responses do not count: the kernel's buffers hold them. */
  readonly smallBytes: number;
  readonly graceMs: number;
  /** Minimum read rate after the grace period. */
  readonly bytesPerSecond: number;
  /** Time limit for a response of unknown size, such as a file. */
  readonly longestMs: number;
}

export const responseLimits: ResponseLimits = {
  pendingBytes: 512 * 1024 * 1024,
  smallBytes: 64 * 1024,
  graceMs: 60_000,
  bytesPerSecond: 256 * 1024,
  longestMs: 30 * 60_000,
};
/** Maximum fraction per address. */
const share = 0.5;

export class PendingResponses {
  readonly #limits: ResponseLimits;
  readonly #cut: (response: ServerResponse, bytes: number | undefined) => void;
  readonly #byReader = new Map<string, number>();
  #bytes = 0;

  constructor(
    limits: ResponseLimits,
    cut: (response: ServerResponse, bytes: number | undefined) => void,
  ) {
    this.#limits = limits;
    this.#cut = cut;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Reserves the bytes until the response is closed; false if the limit is exceeded. */
  add(reader: string, response: ServerResponse, bytes: number): boolean {
    const { pendingBytes, smallBytes, graceMs, bytesPerSecond } = this.#limits;
    if (bytes <= smallBytes) return true;
    const held = this.#byReader.get(reader) ?? 0;
    if (this.#bytes + bytes > pendingBytes || held + bytes > pendingBytes * share) return false;
    this.#bytes += bytes;
    this.#byReader.set(reader, held + bytes);
    this.watch(response, graceMs + (bytes / bytesPerSecond) * 1_000, bytes);
    response.once("close", () => {
      this.#bytes -= bytes;
      const left = (this.#byReader.get(reader) ?? 0) - bytes;
      if (left > 0) this.#byReader.set(reader, left);
      else this.#byReader.delete(reader);
    });
    return true;
  }

  /** Closes the connection if the response has not been read by then. */
  watch(response: ServerResponse, withinMs = this.#limits.longestMs, bytes?: number): void {
    const timer = setTimeout(() => {
      this.#cut(response, bytes);
      response.destroy();
    }, withinMs);
    timer.unref();
    response.once("close", () => clearTimeout(timer));
  }
}

export function addResponseLimits(
  app: FastifyInstance,
  log: Log,
  limits: ResponseLimits = responseLimits,
): void {
  const pending = new PendingResponses(limits, (response, bytes) =>
    log.warn("client reads too slowly: connection closed", {
      address: response.socket?.remoteAddress,
      bytes,
    }),
  );
  app.addHook("onSend", (request, reply, payload: unknown, done) => {
    if (payload instanceof Readable) pending.watch(reply.raw);
    const bytes =
      typeof payload === "string"
        ? Buffer.byteLength(payload)
        : payload instanceof Uint8Array
          ? payload.byteLength
          : 0;
    if (bytes <= limits.smallBytes || pending.add(networkOf(request.ip), reply.raw, bytes))
      return done(null, payload);
    log.warn("too many large responses pending: response refused", {
      address: request.ip,
      bytes,
    });
    reply
      .code(503)
      .removeHeader("content-length")
      .header("retry-after", 10)
      .type("application/json; charset=utf-8");
    done(
      null,
      JSON.stringify({
        status: "error",
        errorType: "unavailable",
        error: "Too many large responses are pending: request less, or retry later.",
      }),
    );
  });
}
