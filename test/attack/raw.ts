/** Sends requests byte for byte, including ones that no well-behaved client would send. */
import { connect } from "node:net";

export interface RawResponse {
  /** 0 if the connection was closed without a response. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
  /** Number of responses on the connection. */
  readonly answers: number;
}

const waitMs = 20_000;

/** Sends the text and reads until the server closes the connection; the request should ask for that with connection: close. */
export function raw(port: number, text: string): Promise<RawResponse> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const socket = connect(port, "127.0.0.1");
    const done = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(parse(Buffer.concat(parts).toString("latin1")));
    };
    const timer = setTimeout(done, waitMs);
    socket.on("data", (part) => parts.push(part));
    socket.on("error", done).on("close", done);
    socket.on("connect", () => socket.write(text, "latin1"));
  });
}

function parse(text: string): RawResponse {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
    head,
    body: rest.join("\r\n\r\n"),
    answers: text.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0,
  };
}

/** A GET whose path and headers are sent exactly as given. */
export const get = (
  port: number,
  target: string,
  headers: readonly string[] = [],
  method = "GET",
): Promise<RawResponse> =>
  raw(
    port,
    [
      `${method} ${target} HTTP/1.1`,
      ...(headers.some((one) => /^host:/i.test(one)) ? [] : [`Host: 127.0.0.1:${port}`]),
      ...headers,
      "Connection: close",
      "",
      "",
    ].join("\r\n"),
  );

/** A request with a body. */
export function send(
  port: number,
  method: string,
  target: string,
  body: Buffer | string,
  headers: readonly string[] = [],
): Promise<RawResponse> {
  const bytes = Buffer.from(body);
  const head = [
    `${method} ${target} HTTP/1.1`,
    ...(headers.some((one) => /^host:/i.test(one)) ? [] : [`Host: 127.0.0.1:${port}`]),
    ...(headers.some((one) => /^content-type:/i.test(one))
      ? []
      : ["Content-Type: application/json"]),
    `Content-Length: ${bytes.length}`,
    ...headers,
    "Connection: close",
    "",
    "",
  ].join("\r\n");
  return raw(port, head + bytes.toString("latin1"));
}
