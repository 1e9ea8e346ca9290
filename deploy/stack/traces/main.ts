// A trace receiver for the stack: accepts OTLP over HTTP as JSON on /v1/traces, stores the last traces in memory, and serves them
// on /traces. It stores nothing on disk; Jaeger, Tempo and others with the same protocol do that.

import { createServer, type IncomingMessage } from "node:http";

import { TraceRegistry } from "./registry.ts";

const LARGEST_BYTES = 8_000_000;
const port = Number(process.env["PORT"]);
if (!Number.isInteger(port)) throw new Error("PORT is not set");
const traces = new TraceRegistry(1_000);

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let sizeBytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    sizeBytes += part.length;
    if (sizeBytes > LARGEST_BYTES) throw new Error(`more than ${LARGEST_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

async function answer(request: IncomingMessage): Promise<readonly [number, unknown]> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://traces");
  if (pathname === "/healthz") return [200, { ok: true }];
  if (pathname === "/v1/traces" && request.method === "POST") {
    if (!(request.headers["content-type"] ?? "").includes("json"))
      return [415, { error: "send JSON: OTEL_EXPORTER_OTLP_PROTOCOL=http/json" }];
    traces.take(JSON.parse(await bodyOf(request)));
    return [200, {}];
  }
  if (pathname === "/traces") {
    const services = (searchParams.get("services") ?? "").split(",").filter((one) => one !== "");
    return [
      200,
      {
        spans: traces.spans,
        traces: traces.newest(services, Number(searchParams.get("limit") ?? 20)),
      },
    ];
  }
  return [404, { error: "there is POST /v1/traces, GET /traces?services=a,b and /healthz" }];
}

createServer((request, response) => {
  answer(request)
    .catch(
      (error: unknown) =>
        [400, { error: error instanceof Error ? error.message : String(error) }] as const,
    )
    .then(([status, body]) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
    )
    .catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
}).listen(port, "127.0.0.1", () => process.stdout.write("takes OTLP traces on /v1/traces\n"));
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
