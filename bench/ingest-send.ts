/** Sends the requests of a receiver over persistent connections, counts the bytes on the wire, and reads the cost from /proc. */
import { Agent, request } from "node:http";
import type { Socket } from "node:net";
import type { Engine } from "./hub-engines.ts";
import { type IngestPath, senders } from "./ingest-paths.ts";
import { processCost } from "./process-cost.ts";

export interface IngestFigures {
  readonly samplesPerSecond: number;
  readonly cpuSecondsPerMillion: number;
  /** Headers and bodies, from sender to engine. */
  readonly wireBytesPerSample: number;
}

/** The share of requests before the measurement, which create the series and warm up the code. */
const warmUpShare = 0.25;

export async function ingestPath(
  engine: Pick<Engine, "name" | "url" | "pid">,
  way: IngestPath,
): Promise<IngestFigures> {
  const client = new SendClient(engine.url + way.path, way.headers);
  const length = Math.max(...way.senders.map((bodies) => bodies.length));
  const warm = Math.max(1, Math.floor(length * warmUpShare));
  await sendAll(client, way, 0, warm);
  const before = processCost(engine.pid);
  const wireBefore = client.wireBytes;
  const began = performance.now();
  await sendAll(client, way, warm, length);
  const seconds = (performance.now() - began) / 1_000;
  const cpuSeconds = processCost(engine.pid).cpuSeconds - before.cpuSeconds;
  const wireBytes = client.wireBytes - wireBefore;
  client.close();
  const total = way.senders.reduce((sum, bodies) => sum + bodies.length, 0);
  const sent = way.senders.reduce((sum, bodies) => sum + Math.max(0, bodies.length - warm), 0);
  const samples = (way.samples * sent) / total;
  return {
    samplesPerSecond: samples / seconds,
    cpuSecondsPerMillion: (cpuSeconds / samples) * 1e6,
    wireBytesPerSample: wireBytes / samples,
  };
}

/** Each sender sends its requests sequentially. */
export async function sendAll(
  client: SendClient,
  way: IngestPath,
  from: number,
  to: number,
): Promise<void> {
  await Promise.all(
    way.senders.map(async (bodies) => {
      for (const body of bodies.slice(from, to)) {
        const { status, text } = await client.send(body);
        if (status >= 300) throw new Error(`${way.name} was answered with ${status}: ${text}`);
      }
    }),
  );
}

export class SendClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: senders });
  readonly #sockets = new Set<Socket>();
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = new URL(url);
    this.#headers = headers;
  }

  get wireBytes(): number {
    let bytes = 0;
    for (const socket of this.#sockets) bytes += socket.bytesWritten;
    return bytes;
  }

  send(body: Buffer): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = { ...this.#headers, "content-length": body.length };
      const sending = request(this.#url, { agent: this.#agent, method: "POST", headers });
      sending.on("error", reject);
      sending.on("socket", (socket) => this.#sockets.add(socket));
      sending.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => (text += part));
        response.on("error", reject);
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      });
      sending.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
