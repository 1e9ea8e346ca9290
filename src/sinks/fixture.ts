/** A receiver of requests on loopback for the tests of sinks that send: answers as it is told, and keeps what it took. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { type Log, silentLog } from "../base/log.ts";
import { identityOf } from "../model/identity.ts";
import { systemClock } from "../base/clock.ts";
import type { SinkContext } from "../pipeline/sink.ts";

export interface ReceiverResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ReceivedRequest {
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Receiver {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** Decides about every request; answers 204 unless told. */
  answer: (request: ReceivedRequest) => ReceiverResponse;
  close(): Promise<void>;
}

export async function startReceiver(port = 0): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const server = http.createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const request = { headers: incoming.headers, body: Buffer.concat(parts) };
      requests.push(request);
      const { status, headers, body } = receiver.answer(request);
      outgoing.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const receiver: Receiver = {
    url: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: () => ({ status: 204 }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

/** Everything a sink may ask of its surroundings, in a folder of its own. */
export function sinkContextIn(spoolDir: string, log: Log = silentLog): SinkContext {
  return {
    log,
    stdout: process.stdout,
    clock: systemClock,
    random: () => 0,
    hostName: "node-1",
    identity: identityOf("node-1"),
    spoolDir,
    version: "1.2.3",
  };
}
