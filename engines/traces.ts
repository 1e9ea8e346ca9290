// A trace receiver on a loopback port: OTLP over HTTP as JSON; spans are stored unchanged.

import { once } from "node:events";
import { createServer } from "node:http";

import { readSpans } from "../deploy/stack/traces/registry.ts";

type ReceivedSpan = ReturnType<typeof readSpans>[number];

export interface RunningTraceReceiver {
  /** The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  stop(): Promise<void>;
}

export async function startTraceReceiver(): Promise<RunningTraceReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const isTraces = request.method === "POST" && request.url === "/v1/traces";
      if (!isTraces) return void response.writeHead(404).end();
      spans.push(...readSpans(JSON.parse(Buffer.concat(parts).toString("utf8"))));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("BUG: no port was given");
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
