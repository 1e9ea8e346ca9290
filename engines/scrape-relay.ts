// A relay between Prometheus and an exporter on loopback that records the requested and served formats. Prometheus before 2.49
// cannot be configured to scrape the text format, so the relay can request it instead.

import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";

export interface ScrapeRelayOptions {
  readonly target: string;
  /** Replaces the Accept header; if absent, the header is forwarded unchanged. */
  readonly accept?: string;
}

export interface RunningRelay {
  /** host:port, as in a scrape configuration. */
  readonly address: string;
  /** Distinct content types served so far. */
  contentTypes(): readonly string[];
  stop(): Promise<void>;
}

export async function startScrapeRelay(options: ScrapeRelayOptions): Promise<RunningRelay> {
  const seen = new Set<string>();
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers };
    if (options.accept !== undefined) headers.accept = options.accept;
    const onward = request(new URL(incoming.url ?? "/", options.target), { headers });
    onward.on("response", (response: IncomingMessage) => {
      seen.add(response.headers["content-type"] ?? "none");
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on("error", (error) => answer.writeHead(502).end(error.message));
    onward.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("BUG: no port was given");
  return {
    address: `127.0.0.1:${address.port}`,
    contentTypes: () => [...seen],
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
