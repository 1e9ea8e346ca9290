/** The agent's HTTP door, on bare node:http to stay small. Everything from outside is bounded: headers, time, connections. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { acceptsGzip } from "../formats/prometheus/negotiate.ts";
import type { WebDoor } from "../http/web-door.ts";
import type { Log } from "../log/log.ts";
import { sayError } from "../errors/error.ts";
import { capConnections, Caps } from "./caps.ts";
import type { Collector } from "./collector.ts";
import { userGuard } from "./users.ts";

const compress = promisify(gzip);
const maxConnections = 256;

interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What tells no more than that the agent lives, and is asked by what knows no password. */
const open = new Set(["/healthz", "/readyz"]);

export function createAgentServer(
  collector: Collector,
  metricsPath: string,
  log: Log,
  door?: WebDoor,
  snapshot?: () => Promise<unknown>,
): Server {
  const routes: Record<string, (request: IncomingMessage) => Answer | Promise<Answer>> = {
    [metricsPath]: (request) => ({ status: 200, ...collector.page(request.headers.accept) }),
    "/stats": () => json(200, collector.stats()),
    ...(snapshot === undefined ? {} : { "/api/snapshot": async () => json(200, await snapshot()) }),
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
      body: `gpulse agent: ${metricsPath} /stats /api/snapshot /healthz /readyz\n`,
    }),
  };
  const refusal = door === undefined ? undefined : userGuard(door, log);
  const caps = new Caps();
  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const waitSeconds = caps.waitSeconds(request.socket.remoteAddress, Date.now());
    if (waitSeconds > 0)
      return {
        ...json(429, { error: "you ask more often than this agent answers one address" }),
        headers: { "retry-after": String(waitSeconds) },
      };
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    const refused = open.has(path) ? undefined : await refusal?.(request);
    if (refused !== undefined)
      return { ...json(refused.status, refused.body), headers: refused.headers };
    if (request.method !== "GET" && request.method !== "HEAD")
      return json(405, { error: "only GET and HEAD are answered here" });
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    return (
      (await route?.(request)) ??
      json(404, { error: `nothing here: try ${Object.keys(routes).join(", ")}` })
    );
  };
  const bounds = {
    headersTimeout: 10_000,
    connectionsCheckingInterval: 5_000,
    requestTimeout: 10_000,
    keepAliveTimeout: 65_000,
    maxHeaderSize: 16 * 1024,
  };
  const handle: RequestListener = (request, response) => {
    request.resume();
    respond(request, response, answer, door?.headers ?? {}).catch((thrown: unknown) => {
      log.error("request failed", { path: request.url?.slice(0, 200), trouble: sayError(thrown) });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };
  const server = door?.createServer(bounds, handle) ?? createServer(bounds, handle);
  server.maxConnections = maxConnections;
  capConnections(server, caps, Date.now);
  // A client that never reads its answer must not hold a connection for ever.
  server.setTimeout(30_000);
  return server;
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: IncomingMessage) => Promise<Answer>,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { status, contentType, body, headers: own } = await answer(request);
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
    ...headers,
    ...own,
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
