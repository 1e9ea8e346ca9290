/**
 * A source that receives data over HTTP. A request is acknowledged only when every sink has stored all of it; above the
 * limit of pending bytes it is rejected with 503 and Retry-After.
 */
import { timingSafeEqual } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { GpulseError, systemCode } from "../base/error.ts";
import type { SampleBatch } from "../formats/samples/batch.ts";
import type { Secret } from "../net/http/secret.ts";
import type { Log } from "../base/log.ts";
import type { Device } from "../model/device.ts";
import type { Frame } from "../model/frame.ts";
import { SampleFrames } from "./sample-frames.ts";
import type { Emit, StreamingSource } from "./source.ts";

export interface HttpReply {
  readonly status: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

/** A received request after parsing. */
export interface ReceivedBatch {
  readonly batch: SampleBatch;
  /** The response once the data is stored. */
  readonly answer: HttpReply;
}

/** A request that is rejected, with the status and message for its sender. */
export class RequestRejectedError extends Error {
  readonly status: number;

  constructor(status: number, sentence: string) {
    super(sentence);
    this.status = status;
  }
}

export interface ListeningOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly paths: readonly string[];
  readonly token: Secret | undefined;
  readonly maxBodyBytes: number;
  /** Limit of the frames of unacknowledged requests, in bytes. */
  readonly maxHeldBytes: number;
  readonly log: Log;
  /** @throws RequestRejectedError */
  readonly understand: (body: Buffer, headers: http.IncomingHttpHeaders) => ReceivedBatch;
  /** Builds the protocol's own error response; a default one if absent. */
  readonly refusal?: (
    status: number,
    sentence: string,
    headers: http.IncomingHttpHeaders,
  ) => HttpReply;
}

interface HeldRequest {
  readonly frames: readonly Frame[];
  readonly bytes: number;
  readonly answer: () => void;
  readonly giveUp: () => void;
}

const retryAfterSeconds = "2";
/** A request whose body takes longer than this is aborted. */
const bodyWithinMs = 30_000;
/** Each connection may be sending a body of its own. */
const maxConnections = 256;

export class ListeningSource implements StreamingSource {
  readonly shape = "streaming";
  readonly answersOnCommit = true;
  readonly #options: ListeningOptions;
  readonly #server: http.Server;
  readonly #samples = new SampleFrames();
  #hasHistograms = false;
  readonly #waiting: HeldRequest[] = [];
  /** Emitted but not yet acknowledged. */
  readonly #emitted: HeldRequest[] = [];
  #heldBytes = 0;
  #isOpen = true;
  #wake: () => void = () => {};

  private constructor(options: ListeningOptions) {
    this.#options = options;
    const bounds = {
      requestTimeout: bodyWithinMs,
      headersTimeout: 10_000,
      maxHeaderSize: 16 * 1024,
    };
    this.#server = http.createServer(bounds, (request, response) => {
      void this.#serve(request, response);
    });
    this.#server.maxConnections = maxConnections;
  }

  /** Listens before it returns, so that a port in use is an error at startup. */
  static async open(options: ListeningOptions): Promise<ListeningSource> {
    const source = new ListeningSource(options);
    const { host, port, log, name } = options;
    await new Promise<void>((resolve, reject) => {
      source.#server.once("error", (error) => reject(toListenError(error, host, port)));
      source.#server.listen(port, host, resolve);
    });
    log.info("listening", { source: name, url: `http://${host}:${source.port}` });
    return source;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  devices(): readonly Device[] {
    return this.#samples.devices();
  }

  async run(emit: Emit, signal: AbortSignal): Promise<void> {
    const stop = (): void => {
      this.#isOpen = false;
      this.#wake();
    };
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    for (;;) {
      const next = this.#waiting[0];
      if (next === undefined) {
        if (!this.#isOpen) return;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      for (const frame of next.frames) {
        if (signal.aborted) return;
        await emit(frame, { devices: this.devices() });
      }
      // Emit whole requests only: part of a request must not be acknowledged.
      this.#waiting.shift();
      this.#emitted.push(next);
    }
  }

  commit(): Promise<void> {
    for (const { answer, bytes } of this.#emitted.splice(0)) {
      this.#heldBytes -= bytes;
      answer();
    }
    return Promise.resolve();
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    for (const { giveUp } of [...this.#emitted.splice(0), ...this.#waiting.splice(0)]) giveUp();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeIdleConnections();
      setTimeout(() => this.#server.closeAllConnections(), 1_000).unref();
    });
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const respond = (reply: HttpReply): void => {
      if (response.writableEnded || response.destroyed) return;
      const body = Buffer.from(reply.body ?? "");
      response.writeHead(reply.status, {
        ...(reply.type !== undefined && { "content-type": reply.type }),
        "content-length": String(body.length),
        ...reply.headers,
      });
      response.end(body);
    };
    try {
      this.#check(request);
      const body = await this.#body(request);
      const { batch, answer } = this.#options.understand(body, request.headers);
      const { frames, histograms, droppedHistograms, badSeries } = this.#samples.frames(batch);
      if (badSeries > 0)
        this.#options.log.warn("series without a name dropped", { series: badSeries });
      if (histograms > 0 && !this.#hasHistograms) {
        this.#hasHistograms = true;
        this.#options.log.info("native histograms are carried as classic ones", { histograms });
      }
      if (droppedHistograms > 0)
        this.#options.log.warn("native histograms dropped: they have more than 500 buckets", {
          histograms: droppedHistograms,
        });
      if (frames.length === 0) return respond(answer);
      this.#hold(
        frames,
        () => respond(answer),
        () => respond(this.#retryLater(request)),
      );
    } catch (thrown) {
      if (!(thrown instanceof RequestRejectedError)) {
        // Either the sender disconnected or this is a bug; the sender may retry in both cases.
        if (!request.destroyed) this.#options.log.error(`BUG: ${String(thrown)}`);
        return respond({ status: 500 });
      }
      const { status, message } = thrown;
      if (status === 503) return respond(this.#retryLater(request));
      if (status === 400) this.#options.log.warn("request rejected", { why: message });
      respond({
        ...this.#errorReply(status, message, request),
        ...(status === 413 && { headers: { connection: "close" } }),
      });
    }
  }

  #hold(frames: readonly Frame[], answer: () => void, giveUp: () => void): void {
    const bytes = frames.reduce((sum, { values }) => sum + 200 + values.length * 9, 0);
    if (
      !this.#isOpen ||
      (this.#heldBytes > 0 && this.#heldBytes + bytes > this.#options.maxHeldBytes)
    )
      throw new RequestRejectedError(503, "");
    this.#heldBytes += bytes;
    this.#waiting.push({ frames, bytes, answer, giveUp });
    this.#wake();
  }

  #check({ method, url = "", headers }: http.IncomingMessage): void {
    const { paths, token } = this.#options;
    if (token !== undefined && !isSame(headers.authorization ?? "", `Bearer ${token.reveal()}`))
      throw new RequestRejectedError(401, "a bearer token is needed");
    if (!paths.includes(url.split("?", 1)[0] ?? ""))
      throw new RequestRejectedError(404, `send to ${paths[0]}`);
    if (method !== "POST") throw new RequestRejectedError(405, "send by POST");
    if (!this.#isOpen || this.#heldBytes >= this.#options.maxHeldBytes)
      throw new RequestRejectedError(503, "");
  }

  async #body(request: http.IncomingMessage): Promise<Buffer> {
    const { maxBodyBytes } = this.#options;
    const tooLarge = (): RequestRejectedError =>
      new RequestRejectedError(413, `a request may have ${maxBodyBytes} bytes: send smaller ones`);
    if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) throw tooLarge();
    const parts: Buffer[] = [];
    let length = 0;
    for await (const part of request as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > maxBodyBytes) throw tooLarge();
      parts.push(part);
    }
    const body = Buffer.concat(parts, length);
    if (request.headers["content-encoding"] !== "gzip") return body;
    try {
      return gunzipSync(body, { maxOutputLength: maxBodyBytes });
    } catch (thrown) {
      if (systemCode(thrown) === "ERR_BUFFER_TOO_LARGE") throw tooLarge();
      throw new RequestRejectedError(400, "the body is not gzip although its header says so");
    }
  }

  #retryLater(request: http.IncomingMessage): HttpReply {
    const reply = this.#errorReply(503, "too much pending data, retry later", request);
    return { ...reply, headers: { "retry-after": retryAfterSeconds } };
  }

  #errorReply(status: number, sentence: string, { headers }: http.IncomingMessage): HttpReply {
    const plain = { status, type: "text/plain; charset=utf-8", body: `${sentence}\n` };
    return this.#options.refusal?.(status, sentence, headers) ?? plain;
  }
}

function isSame(given: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(wanted)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function toListenError(error: Error, host: string, port: number): Error {
  const code = systemCode(error);
  if (code === "EADDRINUSE")
    return new GpulseError(
      "PORT_IN_USE",
      `Port ${port} on ${host} is in use by another program: stop it, or give another port in the source's address.`,
    );
  if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new GpulseError(
      "PORT_DENIED",
      `This user cannot listen on ${host}:${port}: give an address of this machine and a port above 1023.`,
    );
  return error;
}
