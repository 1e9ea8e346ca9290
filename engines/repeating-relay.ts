// An HTTP relay on loopback that buffers every request and fails as networks do: a delivered request gets no response, so that
// the client sends it again, or a request is delivered twice. It never changes a request or a response.

import { once } from "node:events";
import {
  Agent,
  createServer,
  type IncomingHttpHeaders,
  request,
  type ServerResponse,
} from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export interface RelayedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * `lose-answer`: delivered, the response dropped and the connection reset. `lose-request`: not delivered, the connection reset.
 * `twice`: delivered twice in sequence, returns the second response. `twice-at-once`: delivered twice concurrently, returns the
 * first response.
 */
export type RelayBehaviour = "well" | "lose-answer" | "lose-request" | "twice" | "twice-at-once";

export interface RepeatingRelayOptions {
  readonly targetPort: number;
  /** Called for every request; `well` if absent. */
  readonly deliver?: (incoming: RelayedRequest) => RelayBehaviour;
  /** How long a request is retried while its target is down; no retries if absent. */
  readonly retryForMs?: number;
  /** Called with every request before it is delivered. */
  readonly seen?: (incoming: RelayedRequest) => void;
}

export interface RepeatingRelay {
  readonly port: number;
  /** The number of requests per behaviour. */
  readonly counts: Readonly<Record<RelayBehaviour, number>>;
  stop(): Promise<void>;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export async function startRepeatingRelay(options: RepeatingRelayOptions): Promise<RepeatingRelay> {
  const agent = new Agent({ keepAlive: true });
  const counts = { well: 0, "lose-answer": 0, "lose-request": 0, twice: 0, "twice-at-once": 0 };
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("error", () => undefined);
    response.on("error", () => undefined);
    incoming.on("end", () => {
      const { method = "GET", url = "/", headers } = incoming;
      const whole: RelayedRequest = { method, path: url, headers, body: Buffer.concat(parts) };
      options.seen?.(whole);
      const how = options.deliver?.(whole) ?? "well";
      counts[how]++;
      void deal(how, whole, response);
    });
  });
  async function deal(
    how: RelayBehaviour,
    whole: RelayedRequest,
    response: ServerResponse,
  ): Promise<void> {
    const endMs = performance.now() + (options.retryForMs ?? 0);
    const forward = async (): Promise<Answered> => {
      for (;;)
        try {
          return await send(options.targetPort, agent, whole);
        } catch (thrown) {
          if (performance.now() >= endMs) throw thrown;
          await sleep(30);
        }
    };
    try {
      if (how === "lose-request") return reset(response);
      if (how === "twice-at-once") {
        const [first] = await Promise.all([forward(), forward()]);
        return give(response, first);
      }
      const answer = await forward();
      if (how === "lose-answer") return reset(response);
      return give(response, how === "twice" ? await forward() : answer);
    } catch {
      // The target is down, so the relay resets the connection too.
      return reset(response);
    }
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("BUG: no port was given");
  return {
    port: address.port,
    counts,
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
}

function give(response: ServerResponse, { status, headers, body }: Answered): void {
  const { connection: _, "transfer-encoding": __, ...rest } = headers;
  response.writeHead(status, { ...rest, "content-length": body.length }).end(body);
}

function send(port: number, agent: Agent, whole: RelayedRequest): Promise<Answered> {
  const { method, path, headers, body } = whole;
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, headers, agent });
    sent.on("error", reject);
    sent.on("response", (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("error", reject);
      answer.on("close", () => {
        if (!answer.complete) return reject(new Error("the answer was cut off"));
        const { statusCode: status = 502, headers: reported } = answer;
        return resolve({ status, headers: reported, body: Buffer.concat(parts) });
      });
    });
    sent.end(body);
  });
}
