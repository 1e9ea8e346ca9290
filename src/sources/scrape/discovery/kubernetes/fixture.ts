/** For tests: an API server on loopback that lists objects and streams what happens to them, as the real one does. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { KubeObject } from "./objects.ts";

export interface ApiServer {
  readonly url: string;
  /** Paths with their queries, in order. */
  readonly requests: string[];
  readonly authorizations: (string | undefined)[];
  /** Of lists by path; a page holds at most `pageSize`. */
  readonly lists: Map<string, KubeObject[]>;
  pageSize: number;
  /** To everybody who watches the path. */
  send(path: string, type: string, object: object): void;
  /** Ends every watch, or gives each a broken end. */
  drop(): void;
  /** How many watch the path. */
  watching(path: string): number;
  close(): void;
}

export async function startApiServer(): Promise<ApiServer> {
  const watches = new Map<string, Set<ServerResponse>>();
  const server = createServer((request, reply) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    api.requests.push(request.url ?? "");
    api.authorizations.push(request.headers.authorization);
    reply.setHeader("content-type", "application/json");
    if (pathname === "/version") {
      reply.end('{"major":"1","minor":"25","gitVersion":"v1.25.0"}');
      return;
    }
    if (["1", "true"].includes(searchParams.get("watch") ?? "")) {
      reply.flushHeaders();
      const open = watches.get(pathname) ?? new Set();
      watches.set(pathname, open.add(reply));
      reply.on("close", () => open.delete(reply));
      return;
    }
    const all = api.lists.get(pathname);
    if (all === undefined) {
      reply.writeHead(403).end('{"kind":"Status","code":403,"message":"forbidden"}');
      return;
    }
    const from = Number(searchParams.get("continue") ?? 0);
    const items = all.slice(from, from + api.pageSize);
    const rest = from + items.length < all.length ? String(from + items.length) : "";
    const metadata = { resourceVersion: "100", continue: rest };
    reply.end(JSON.stringify({ ...kindOf(pathname), metadata, items }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const api: ApiServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    authorizations: [],
    lists: new Map(),
    pageSize: 500,
    send(path, type, object) {
      for (const reply of watches.get(path) ?? [])
        reply.write(`${JSON.stringify({ type, object })}\n`);
    },
    drop() {
      for (const open of watches.values()) for (const reply of open) reply.end();
    },
    watching: (path) => watches.get(path)?.size ?? 0,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return api;
}

const kinds: Readonly<Record<string, string>> = {
  nodes: "NodeList",
  pods: "PodList",
  services: "ServiceList",
  endpoints: "EndpointsList",
  endpointslices: "EndpointSliceList",
  ingresses: "IngressList",
};

function kindOf(path: string): { readonly apiVersion: string; readonly kind: string | undefined } {
  const [, , group, version] = path.split("/");
  const apiVersion = path.startsWith("/apis/") ? `${group}/${version}` : "v1";
  return { apiVersion, kind: kinds[path.split("/").at(-1) ?? ""] };
}
