// The HTTP server of every program: /healthz reports that it runs, /readyz that its dependencies respond, /metrics its metrics.
// Listens on loopback by default.

import fastify from "fastify";
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";

import { type Log, reasonOf } from "./log.ts";

export interface DemoServer {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  readonly log: Log;
  /** Missing dependencies, one sentence each; empty when ready. */
  readonly problems?: () => readonly string[];
  readonly bodyLimitBytes?: number;
}

/** An error with the status and the code sent to the client. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, code: string, message: string, retryAfterSeconds?: number) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export function createDemoServer(server: DemoServer): FastifyInstance {
  const app = fastify({
    bodyLimit: server.bodyLimitBytes ?? 65_536,
    forceCloseConnections: "idle",
  });
  app.get("/healthz", async () => ({ status: "alive" }));
  app.get("/readyz", async (_request, reply) => {
    const problems = server.problems?.() ?? [];
    if (problems.length > 0) reply.code(503);
    return { status: problems.length === 0 ? "ready" : "not ready", troubles: problems };
  });
  app.get("/metrics", async (_request, reply) => {
    reply.header("content-type", server.registry.contentType);
    return server.registry.metrics();
  });
  app.setNotFoundHandler(async (request, reply) => {
    reply.code(404);
    return body("not_found", `there is no ${request.method} ${request.url}`);
  });
  app.setErrorHandler(async (error, _request, reply) => {
    if (error instanceof HttpError) {
      if (error.retryAfterSeconds !== undefined)
        reply.header("retry-after", `${error.retryAfterSeconds}`);
      reply.code(error.status);
      return body(error.code, error.message);
    }
    const status = statusOf(error);
    reply.code(status);
    if (status < 500)
      return body(status === 413 ? "too_large" : "invalid_request", reasonOf(error));
    server.log.error("a request failed", { error: reasonOf(error) });
    return body("internal_error", "the request failed; the log says why");
  });
  return app;
}

export async function listen(app: FastifyInstance, server: DemoServer): Promise<void> {
  const address = await app.listen({ host: server.host, port: server.port });
  server.log.info("listening", { address });
}

function body(code: string, message: string): { readonly error: Record<string, string> } {
  return { error: { code, message } };
}

function statusOf(error: unknown): number {
  const given =
    typeof error === "object" && error !== null && "statusCode" in error ? error.statusCode : 500;
  return typeof given === "number" && given >= 400 ? given : 500;
}
