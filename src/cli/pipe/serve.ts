/** Serves a pipe's own metrics on a port, with plain node:http. No data of the pipe is exposed. */
import { createServer, type Server } from "node:http";
import { processFacts } from "../../agent/host.ts";
import { listen } from "../../net/http/listen.ts";
import { lagResolutionMs, RuntimeMonitor } from "../../agent/runtime.ts";
import { negotiateFormat } from "../../formats/prometheus/negotiate.ts";
import { PageWriter, contentTypes } from "../../formats/prometheus/page.ts";
import type { Log } from "../../base/log.ts";
import { SelfFrames } from "../../model/self-frames.ts";
import { collectPipe, collectSelf, shippingMetrics } from "../../pipeline/self.ts";
import type { Sink } from "../../pipeline/sink.ts";
import type { Pipe } from "../../pipeline/stream/pipe.ts";

export interface PipeServer {
  readonly pipe: Pipe;
  readonly sinks: readonly Sink[];
  readonly version: string;
  readonly log: Log;
  readonly host: string;
  readonly port: number;
}

export async function servePipe(options: PipeServer): Promise<Server> {
  const { pipe, sinks, version, log, host, port } = options;
  const self = new SelfFrames();
  const runtime = new RuntimeMonitor(lagResolutionMs.agent, performance.now());
  const shipping = shippingMetrics(sinks);
  const writers = { text: new PageWriter("text"), openmetrics: new PageWriter("openmetrics") };
  const page = (accept: string | undefined): { body: string; contentType: string } => {
    const format = negotiateFormat(accept);
    const frame = self.at(Date.now(), [
      (put, nowMs) =>
        collectSelf(put, nowMs, {
          version,
          nodeVersion: process.version,
          states: pipe.states,
          outlets: pipe.outlets,
          served: [],
          process: processFacts(),
          runtime: runtime.read(performance.now()),
        }),
      (put) => collectPipe(put, pipe),
      shipping,
    ]);
    const body = writers[format].write([frame]);
    return { body, contentType: contentTypes[format] };
  };
  const bounds = { headersTimeout: 10_000, requestTimeout: 10_000, maxHeaderSize: 16 * 1_024 };
  const server = createServer(bounds, (request, response) => {
    request.resume();
    const path = (request.url ?? "/").split("?", 1)[0];
    if (path === "/metrics") {
      const { body, contentType } = page(request.headers.accept);
      response.writeHead(200, { "content-type": contentType }).end(body);
    } else if (path === "/healthz") response.writeHead(200).end("ok\n");
    else response.writeHead(404).end("gpulse pipe: /metrics /healthz\n");
  });
  server.maxConnections = 64;
  server.setTimeout(30_000);
  const { url } = await listen(server, host, port);
  server.unref();
  server.once("close", () => runtime.close());
  log.info("metrics of this pipe", { url: `${url}/metrics` });
  return server;
}
