// Sends one request over its own socket, byte for byte: no client library repairs broken input.

import { connect } from "node:net";

export interface MadeRequest {
  readonly shown: string;
  readonly bytes: Buffer;
  /** The source address, any of loopback, so that a lockout of one address does not block the others. */
  readonly from: string;
  /** The request is not valid HTTP: the connection may simply end. */
  readonly isBroken: boolean;
  readonly isHead: boolean;
}

export interface RawHttpResponse {
  /** 0 if the connection ended without a response. */
  readonly status: number;
  readonly headers: string;
  readonly body: string;
}

const mostBytes = 1 << 20;
const eventStream = /^content-type: text\/event-stream/im;

/** Rejects if no response arrived in time, or the server no longer listens. */
export function send(port: number, made: MadeRequest, withinMs: number): Promise<RawHttpResponse> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: made.from });
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no answer within ${withinMs / 1_000} s`));
    }, withinMs);
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(parseAnswer(Buffer.concat(chunks)));
    };
    socket.on("data", (chunk) => {
      size += chunk.length;
      if (size < mostBytes) chunks.push(chunk);
      // An event stream never ends by itself; its first chunks are the response.
      if (chunks.length < 4 && eventStream.test(chunk.toString("latin1"))) done();
    });
    socket.once("close", done);
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNREFUSED") return;
      clearTimeout(timer);
      reject(new Error("nobody listens any more"));
    });
    // An incomplete body is ended here; otherwise the response ends the connection.
    if (made.isBroken) socket.end(made.bytes);
    else socket.write(made.bytes);
  });
}

function parseAnswer(bytes: Buffer): RawHttpResponse {
  const text = bytes.toString("latin1");
  // A `100 Continue` may precede the response to a body that was refused early.
  const from = text.startsWith("HTTP/1.1 100 ") ? text.indexOf("\r\n\r\n") + 4 : 0;
  const status = /^HTTP\/1\.\d (\d{3})/.exec(text.slice(from))?.[1];
  const end = text.indexOf("\r\n\r\n", from);
  if (status === undefined || end === -1) return { status: 0, headers: "", body: "" };
  return { status: Number(status), headers: text.slice(from, end), body: text.slice(end + 4) };
}
