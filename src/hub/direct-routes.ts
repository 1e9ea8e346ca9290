/**
 * Routes handled before Fastify, for frequent, uniform requests. A direct route only sends 200 or 204 for an accepted request.
 * Everything else goes on to the Fastify route of the same path, which refuses, logs and counts it: the same guard, credentials
 * and limits apply on both.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import type { ClientKey } from "../base/fair/client-key.ts";
import type { QuickAuth } from "./auth/auth.ts";
import { requiredScope } from "./auth/required-scope.ts";
import { type Guard, guardHeaders } from "./guard.ts";
import { clientOf } from "./limits/client.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Absent on a server without direct routes. */
    direct?: DirectRoutes;
  }
}

/** 200 with JSON, or 204 without a body. */
export type DirectResponse = { readonly json: string } | "no content";

/** Resolves with undefined to leave the request to Fastify. Must not throw. */
export type DirectHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  client: ClientKey,
) => Promise<DirectResponse | undefined>;

interface DirectRoute {
  readonly contentType: string;
  readonly handle: DirectHandler;
}

export interface DirectOptions {
  readonly guard: Guard;
  readonly headers: () => Readonly<Record<string, string>>;
  /** Behind a proxy the client's address is in a header, which Fastify parses. */
  readonly behindProxy: boolean;
}

export class DirectRoutes {
  readonly #options: DirectOptions;
  readonly #routes = new Map<string, DirectRoute>();
  #auth: QuickAuth | undefined;
  #isClosing = false;

  constructor(options: DirectOptions) {
    this.#options = options;
  }

  /** @param auth absent on a hub without access control */
  serveOn(app: FastifyInstance, auth: QuickAuth | undefined): void {
    this.#auth = auth;
    app.addHook("preClose", async () => void (this.#isClosing = true));
  }

  /** Handles POST requests with exactly this path and content type. */
  post(path: string, contentType: string, handle: DirectHandler): void {
    this.#routes.set(path, { contentType, handle });
  }

  before(fastify: RequestListener): RequestListener {
    return (request, response) => {
      const route = this.#routes.get(request.url ?? "");
      const client = route && this.#clientOf(request, route);
      if (route === undefined || client === undefined) return fastify(request, response);
      void route
        .handle(request, response, client)
        .then((sent) =>
          sent === undefined ? fastify(request, response) : this.#send(response, sent),
        );
    };
  }

  /** Returns undefined if the request is unusual in any way, or must be refused. */
  #clientOf(request: IncomingMessage, { contentType }: DirectRoute): ClientKey | undefined {
    const { method, headers, url = "" } = request;
    const { guard, behindProxy } = this.#options;
    if (this.#isClosing || behindProxy || method !== "POST") return undefined;
    if (headers["content-type"] !== contentType || !(Number(headers["content-length"]) > 0))
      return undefined;
    if (guard(request) !== undefined) return undefined;
    const needs = requiredScope(method, url);
    const ip = request.socket.remoteAddress;
    if (needs === undefined || ip === undefined) return undefined;
    if (this.#auth === undefined) return clientOf({ ip });
    const access = this.#auth(needs, url, headers);
    return access && clientOf({ access, ip });
  }

  #send(response: ServerResponse, sent: DirectResponse): void {
    const headers = { ...guardHeaders, ...this.#options.headers() };
    if (sent === "no content") {
      response.writeHead(204, headers);
      response.end();
      return;
    }
    response.writeHead(200, {
      ...headers,
      "cache-control": "no-store",
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(sent.json),
    });
    response.end(sent.json);
  }
}
