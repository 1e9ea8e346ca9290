/** A reverse proxy that serves a hub under a path, like nginx with a location that ends in a slash. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface RunningProxy {
  /** Ends in the path. */
  readonly url: string;
  /** The requested paths, relative to the proxy's own path. */
  readonly requests: readonly string[];
  close(): void;
}

export async function startProxy(path: string, hub: string): Promise<RunningProxy> {
  const requests: string[] = [];
  const server = createServer((from, to) => {
    if (from.url?.startsWith(path) !== true) {
      to.writeHead(404).end("outside the path");
      return;
    }
    requests.push(from.url.slice(path.length));
    const target = new URL(from.url.slice(path.length), hub);
    const { host: _host, ...headers } = from.headers;
    const passed = request(target, { method: from.method, headers }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      to.flushHeaders();
      answer.pipe(to);
    });
    passed.on("error", () => to.destroy());
    to.on("close", () => passed.destroy());
    from.pipe(passed);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    requests,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
