/** A small stand-in for a hub, for this folder's tests: reads requests as a hub does and answers as a test tells it to. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import type { LayoutDefinition } from "../../formats/frames/layout.ts";
import {
  type DefinitionStore,
  type PushRequest,
  readRequest,
} from "../../formats/frames/request.ts";

export interface FakeHubResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface FakeHub {
  readonly url: string;
  readonly requests: PushRequest[];
  readonly headers: IncomingMessage["headers"][];
  /** Sequences it holds, in the order they came. */
  readonly held: number[];
  /** What it says instead of taking a request; undefined takes it. */
  refuse: (request: PushRequest) => FakeHubResponse | undefined;
  /** On the wire: bodies, request lines and headers, both ways. */
  bytes: number;
  forget(): void;
  close(): Promise<void>;
}

export async function startFakeHub(port = 0): Promise<FakeHub> {
  const layouts = new Map<string, LayoutDefinition>();
  const devices = new Set<string>();
  const known: DefinitionStore = {
    layout: (hash) => layouts.get(hash),
    learnLayout: (layout) => void layouts.set(layout.hash, layout),
    learnDevices: (hash) => void devices.add(hash),
    learnMetric: () => {},
  };
  const hub: Omit<FakeHub, "url"> = {
    requests: [],
    headers: [],
    held: [],
    refuse: () => undefined,
    bytes: 0,
    forget: () => {
      layouts.clear();
      devices.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  const answer = (request: PushRequest): FakeHubResponse => {
    const refused = hub.refuse(request);
    if (refused !== undefined) return refused;
    const needs = {
      layouts: [...new Set(request.heads.map(({ layout }) => layout))].filter(
        (hash) => !layouts.has(hash),
      ),
      devices: [...new Set(request.heads.map((head) => head.devices))].filter(
        (hash) => !devices.has(hash),
      ),
    };
    if (needs.layouts.length + needs.devices.length > 0) return { status: 428, body: { needs } };
    const before = hub.held.at(-1) ?? 0;
    for (const { sequence } of request.frames) if (sequence > before) hub.held.push(sequence);
    return { status: 200, body: { acknowledged: hub.held.at(-1) ?? 0 } };
  };
  const server = createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const packed = Buffer.concat(parts);
      const request = readRequest(gunzipSync(packed), () => known);
      hub.requests.push(request);
      hub.headers.push(incoming.headers);
      const { status, body, headers = {} } = answer(request);
      const text = JSON.stringify(body);
      outgoing.writeHead(status, { "content-type": "application/json", ...headers });
      outgoing.end(text, () => {
        const head = incoming.rawHeaders.reduce((sum, one) => sum + one.length + 2, 40);
        hub.bytes += head + packed.length + text.length + 200;
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(hub, { url });
}
