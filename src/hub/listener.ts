/**
 * The hub's HTTP server, opened before the rest of the hub is loaded. Until the application takes over, it answers health
 * checks itself and queues all other requests, so that none is refused during the start.
 */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "../base/log.ts";
import { isSecure, listen, localUrl } from "../net/http/listen.ts";
import type { WebListener } from "../net/http/web-listener.ts";
import { guardHeaders, isAllowedHost } from "./guard.ts";
import { limitAddresses, limitConnections } from "./limits/connections.ts";

export interface ReadyState {
  readonly ready: boolean;
  readonly problems: readonly string[];
}

export interface ListenerOptions {
  /** The listen address; on loopback, only requests to loopback names are accepted. */
  readonly host: string;
  readonly port: number;
  /** TLS, and headers of a web configuration file; absent: plain HTTP. */
  readonly listener?: WebListener;
  /** Maximum connections per address of other machines; Infinity behind a proxy. */
  readonly connectionsPerAddress?: number;
  readonly log: Log;
  readonly nowMs: () => number;
}

export interface HubListener {
  /** The URL to open on this machine. */
  readonly url: string;
  readonly server: Server;
  /** Passes all requests to the application, queued ones first. */
  serve(handler: RequestListener): void;
  close(): Promise<void>;
}

/**
 * @param dropped called for each refused connection
 * @param ready the response of `/-/ready` before the application serves; undefined: the request is queued
 * @throws GpulseError PORT_IN_USE or PORT_DENIED
 */
export async function openListener(
  options: ListenerOptions,
  dropped: () => void,
  ready: () => ReadyState | undefined,
): Promise<HubListener> {
  const { host, port, listener } = options;
  const held: Parameters<RequestListener>[] = [];
  let receive: RequestListener = (request, response) => {
    const body = request.method === "GET" ? healthOf(request.url, ready) : undefined;
    if (body === undefined || !isAllowedHost(request, host)) {
      held.push([request, response]);
      return;
    }
    const text = JSON.stringify(body);
    response.writeHead("ready" in body && !body.ready ? 503 : 200, {
      ...guardHeaders,
      ...listener?.headers,
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
    });
    response.end(text);
  };
  const create = (): Server => {
    const server = createHubServer(listener, (request, response) => receive(request, response));
    limitConnections(server, { dropped });
    limitAddresses(server, { ...options, dropped, perAddress: options.connectionsPerAddress });
    return server;
  };
  const server = create();
  await listen(server, host, port);
  const { port: opened, address: bound } = server.address() as AddressInfo;
  const servers = [server];
  // `localhost` resolves to two addresses, and listen() uses one.
  if (host === "localhost") {
    const { lookup } = await import("node:dns/promises");
    for (const { address } of await lookup(host, { all: true }).catch(() => [])) {
      if (address === bound) continue;
      const other = create();
      await listen(other, address, opened).then(
        () => servers.push(other),
        () => other.close(),
      );
    }
  }
  return {
    url: `${localUrl(host, opened, isSecure(server))}/`,
    server,
    serve: (handler) => {
      receive = handler;
      for (const [request, response] of held.splice(0)) handler(request, response);
    },
    close: async () => {
      const closed = servers.splice(0).map(
        (one) =>
          new Promise<void>((resolve) => {
            one.close(() => resolve());
            one.closeAllConnections();
          }),
      );
      await Promise.all(closed);
    },
  };
}

/** Creates a server with or without TLS, with the same limits. */
export function createHubServer(
  listener: WebListener | undefined,
  handler: RequestListener,
): Server {
  const limits = {
    headersTimeout: 10_000,
    // How often Node checks these timeouts; its default is 30 s.
    connectionsCheckingInterval: 5_000,
    keepAliveTimeout: 30_000,
    maxHeaderSize: 16 * 1024,
    requestTimeout: 30_000,
  };
  return listener?.createServer(limits, handler) ?? createServer(limits, handler);
}

function healthOf(
  url: string | undefined,
  ready: () => ReadyState | undefined,
): ReadyState | { readonly healthy: true } | undefined {
  if (url === "/-/healthy") return { healthy: true };
  return url === "/-/ready" ? ready() : undefined;
}
