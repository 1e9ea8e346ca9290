/**
 * `POST /mcp`: the Model Context Protocol over streamable HTTP, stateless. The response is JSON (or, for a client of the 2025
 * protocol, a stream of one event), and no session remains. Tools read through the hub's own routes with the caller's
 * credentials, so that scopes, rate limits and query budgets apply as for any request.
 */
import { setMaxListeners } from "node:events";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { FairSlots, NoSlotError } from "../../base/fair/fair-slots.ts";
import type { HubReader } from "../../view/tools/hub-reader.ts";
import { isLoopback } from "../guard.ts";
import { clientOf } from "../limits/client.ts";
import { noStore, sendError } from "../reply.ts";

export interface McpRouteOptions {
  /** The address the hub listens on. */
  readonly host: string;
  readonly publicUrl?: string;
  readonly version: string;
  readonly nowMs: () => number;
}

const maxRequestBytes = 64 * 1024;
/** Limits concurrent requests; the others wait in a fair queue. */
const slots = new FairSlots({ slots: 8, maxWaiting: 8_192 });
const waitMs = 30_000;
const retryAfterSeconds = 5;

/** Headers with credentials or the client's identity, forwarded to the hub's routes. */
const passedOn = ["authorization", "cookie", "host", "x-forwarded-for"] as const;

export async function addMcp(app: FastifyInstance, options: McpRouteOptions): Promise<void> {
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // The SDK parses the body and reports errors as JSON-RPC.
    scope.addContentTypeParser(
      "application/json",
      { parseAs: "string", bodyLimit: maxRequestBytes },
      (_request, body, done) => done(null, body),
    );
    scope.post("/mcp", async (request, reply) => answer(app, request, reply, options));
    // Clients of the 2025 protocol open a stream for notifications; the hub sends none.
    scope.get("/mcp", async (_request, reply) =>
      sendError(reply.header("allow", "POST"), 405, "Send MCP requests by POST."),
    );
  });
}

async function answer(
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
  options: McpRouteOptions,
): Promise<FastifyReply> {
  const { access, ip } = request;
  const isAnonymous = access === undefined || access === null || access.by === "nobody";
  if (isAnonymous && !(isLoopback(options.host) && isLoopback(ip.replace(/^::ffff:/, ""))))
    return sendError(
      reply,
      403,
      "MCP needs a token on a hub that the network can reach: create one with gpulse token add NAME --scope read.",
    );
  const gone = new AbortController();
  setMaxListeners(0, gone.signal);
  reply.raw.once("close", () => gone.abort());
  let leave: () => void;
  try {
    leave = await slots.enter({ client: clientOf(request), waitMs, signal: gone.signal });
  } catch (thrown) {
    if (!(thrown instanceof NoSlotError)) throw thrown;
    return sendError(
      reply.header("retry-after", retryAfterSeconds),
      503,
      "Too many MCP requests are waiting: retry later.",
    );
  }
  try {
    const { serveMcp } = await import("./serve.ts");
    const hub = hubReader(app, request, options, gone.signal);
    const { status, headers, body } = await serveMcp(request, { ...options, hub });
    return await noStore(reply.code(status).headers(headers)).send(body);
  } finally {
    leave();
  }
}

/** Reads the hub's routes as the caller, by injected requests. */
function hubReader(
  app: FastifyInstance,
  request: FastifyRequest,
  { publicUrl }: McpRouteOptions,
  signal: AbortSignal,
): HubReader {
  const headers = Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = request.headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
  const remoteAddress = request.socket.remoteAddress ?? request.ip;
  return {
    url: publicUrl ?? `${request.protocol}://${request.headers.host ?? request.hostname}`,
    get: async (route) => {
      const reply = await app.inject({ method: "GET", url: route, headers, remoteAddress, signal });
      return { status: reply.statusCode, body: readBody(reply.body) };
    },
  };
}

function readBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
