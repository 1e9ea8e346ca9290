/**
 * The agent's HTTP server, on plain node:http to stay small. Header size, time and number of connections are limited for every client.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { acceptsGzip } from "../formats/prometheus/negotiate.ts";
import type { WebListener } from "../net/http/web-listener.ts";
import { LogThrottle } from "../base/log-throttle.ts";
import type { Log } from "../base/log.ts";
import { formatError } from "../base/error.ts";
import { capConnections, ClientCaps } from "./caps.ts";
import type { Collector } from "./collector.ts";
import { userGuard } from "./users.ts";
import { agentPaths } from "../cli/command/table.ts";

const compress = promisify(gzip);
const maxConnections = 256;

interface AgentResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** True if the rejection has already been logged. */
  readonly isLogged?: boolean;
}

type Route = (request: IncomingMessage) => AgentResponse | Promise<AgentResponse>;

/** Liveness paths, which need no password. */
const open = new Set(["/healthz", "/readyz"]);

export function createAgentServer(
  collector: Collector,
  metricsPath: string,
  log: Log,
  listener?: WebListener,
  snapshot?: () => Promise<unknown>,
): Server {
  const own: Record<(typeof agentPaths)[number], Route | undefined> = {
    "/stats": async () => json(200, await collector.stats()),
    "/api/health": () => {
      const report = collector.health();
      return report === undefined
        ? json(404, { error: "no GPU is judged here: name a source with --source" })
        : json(200, report);
    },
    "/api/snapshot": snapshot && (async () => json(200, await snapshot())),
    "/healthz": () => json(200, { status: "ok" }),
    "/readyz": () => {
      const { ready, sources } = collector.readiness();
      const hint =
        sources.length === 0
          ? { hint: "no GPU was found: name a source with --source, or run gpulse doctor" }
          : {};
      // The JSON field keeps its older name `trouble`: scripts read it.
      const listed = sources.map(({ problem, ...source }) => ({ ...source, trouble: problem }));
      return json(ready ? 200 : 503, { ready, sources: listed, ...hint });
    },
    "/": () => ({
      status: 200,
      contentType: "text/plain; charset=utf-8",
      body: `gpulse agent: ${[metricsPath, ...agentPaths.slice(1)].join(" ")}\n`,
    }),
  };
  const routes: Record<string, Route | undefined> = {
    [metricsPath]: (request) => ({ status: 200, ...collector.page(request.headers.accept) }),
    ...own,
  };
  const refusal = listener === undefined ? undefined : userGuard(listener, log);
  const caps = new ClientCaps();
  const logRefusal = createRefusalLog(log);
  const answer = async (request: IncomingMessage): Promise<AgentResponse> => {
    const waitSeconds = caps.waitSeconds(request.socket.remoteAddress, Date.now());
    if (waitSeconds > 0)
      return {
        ...json(429, { error: "you ask more often than this agent answers one address" }),
        headers: { "retry-after": String(waitSeconds) },
      };
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    const refused = open.has(path) ? undefined : await refusal?.(request);
    if (refused !== undefined) return { ...refused, ...json(refused.status, refused.body) };
    if (request.method !== "GET" && request.method !== "HEAD")
      return json(405, { error: "only GET and HEAD are answered here" });
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    return (
      (await route?.(request)) ??
      json(404, { error: `not found: try ${[metricsPath, ...agentPaths].join(", ")}` })
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
    const answerLogged = async (incoming: IncomingMessage): Promise<AgentResponse> => {
      const result = await answer(incoming);
      if (result.isLogged !== true)
        logRefusal(incoming.socket.remoteAddress, incoming.method ?? "", result.status);
      return result;
    };
    respond(request, response, answerLogged, listener?.headers ?? {}).catch((thrown: unknown) => {
      log.error("request failed", {
        path: request.url?.slice(0, 200),
        error: formatError(thrown),
      });
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  };
  const server = listener?.createServer(bounds, handle) ?? createServer(bounds, handle);
  server.maxConnections = maxConnections;
  // A `clientError` listener replaces Node's own, so it has to send the response that Node would send.
  server.on("clientError", (thrown: Error & { code?: string }, socket) => {
    const status = brokenStatus[thrown.code ?? ""] ?? 400;
    if (thrown.code !== undefined && !/^(?:ECONNRESET|EPIPE|ERR_SSL_.*)$/.test(thrown.code))
      logRefusal(
        "remoteAddress" in socket ? String(socket.remoteAddress) : undefined,
        thrown.code,
        status,
      );
    if (socket.writable)
      socket.end(
        `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nConnection: close\r\n\r\n`,
        () => socket.destroy(),
      );
    else socket.destroy();
  });
  capConnections(server, caps, Date.now);
  // Close the connection of a client that does not read its response.
  server.setTimeout(30_000);
  return server;
}

const brokenStatus: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Returns a function that logs rejected requests, throttled and without their content. */
function createRefusalLog(
  log: Log,
): (address: string | undefined, what: string, status: number) => void {
  const lines = new LogThrottle();
  return (address, what, status) => {
    if (status < 400 || status >= 500 || status === 404) return;
    const line = lines.take(`${address ?? "closed"} ${what} ${status}`, Date.now());
    if (line !== undefined) log.warn("request refused", { address, what, status, ...line });
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: (request: IncomingMessage) => Promise<AgentResponse>,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { status, contentType, body, headers: own } = await answer(request);
  const wantsGzip = acceptsGzip(header(request, "accept-encoding")) && body.length > 512;
  // 5 % smaller than level 4 for up to 0.06 ms more with eight GPUs; level 6 takes 0.2 ms more for another percent.
  const bytes = wantsGzip ? await compress(body, { level: 5 }) : Buffer.from(body);
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

const json = (status: number, value: unknown): AgentResponse => ({
  status,
  contentType: "application/json; charset=utf-8",
  body: `${JSON.stringify(value)}\n`,
});
