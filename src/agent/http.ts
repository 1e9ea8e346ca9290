/** The agent's HTTP door, on bare node:http to stay small. Everything from outside is bounded: headers, time, connections. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { acceptsGzip } from "../formats/prometheus/negotiate.ts";
import type { Log } from "../log/log.ts";
import { sayError } from "../errors/error.ts";
import type { Collector } from "./collector.ts";

const compress = promisify(gzip);
const maxConnections = 256;

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export function createAgentServer(collector: Collector, metricsPath: string, log: Log): Server {
  const routes: Record<string, (request: IncomingMessage) => Answer> = {
    [metricsPath]: (request) => ({ status: 200, ...collector.page(request.headers.accept) }),
    "/stats": () => json(200, collector.stats()),
    "/healthz": () => json(200, { status: "ok" }),
    "/readyz": () => {
      const { ready, sources } = collector.readiness();
      const hint =
        sources.length === 0
          ? { hint: "no GPU was found: name a source with --source, or run gpulse doctor" }
          : {};
      return json(ready ? 200 : 503, { ready, sources, ...hint });
    },
    "/": () => ({
      status: 200,
      contentType: "text/plain; charset=utf-8",
      body: `gpulse agent: ${metricsPath} /stats /healthz /readyz\n`,
    }),
  };
  const answer = (request: IncomingMessage): Answer => {
    if (request.method !== "GET" && request.method !== "HEAD")
      return json(405, { error: "only GET and HEAD are answered here" });
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    return (
      route?.(request) ??
      json(404, { error: `nothing here: try ${Object.keys(routes).join(", ")}` })
    );
  };
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 10_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16 * 1024,
    },
    (request, response) => {
      request.resume();
      respond(request, response, answer).catch((thrown: unknown) => {
        log.error("request failed", {
          path: request.url?.slice(0, 200),
          trouble: sayError(thrown),
        });
        if (!response.headersSent) response.writeHead(500);
        response.end();
      });
    },
  );
  server.maxConnections = maxConnections;
  // A client that never reads its answer must not hold a connection for ever.
  server.setTimeout(30_000);
  return server;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: IncomingMessage) => Answer,
): Promise<void> {
  const { status, contentType, body } = answer(request);
  const wantsGzip = acceptsGzip(header(request, "accept-encoding")) && body.length > 512;
  const bytes = wantsGzip ? await compress(body, { level: 4 }) : Buffer.from(body);
  response.writeHead(status, {
    "content-type": contentType,
    "content-length": bytes.length,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    vary: "accept, accept-encoding",
    ...(wantsGzip ? { "content-encoding": "gzip" } : {}),
    ...(status === 405 ? { allow: "GET, HEAD" } : {}),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(",") : value;
}

const json = (status: number, value: unknown): Answer => ({
  status,
  contentType: "application/json; charset=utf-8",
  body: `${JSON.stringify(value)}\n`,
});
