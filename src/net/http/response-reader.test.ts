// Tests the response reader beside Node's own client: what that accepts and refuses is accepted and refused here. The exception is
// bytes after a response: Node refuses it if they come in one packet, the reader only stops using the connection, like Go's client.
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BodyLimitError, ResponseReader } from "./response-reader.ts";

const head = (...lines: string[]): string => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n");

const responses: Readonly<Record<string, string>> = {
  "a length": `${head("Content-Length: 2", "Content-Type: text/plain")}hi`,
  "no body": head("Content-Length: 0"),
  chunks: `${head("Transfer-Encoding: chunked")}2\r\nhi\r\nA;name=value\r\n0123456789\r\n0\r\n\r\n`,
  "chunks and a trailer": `${head("Transfer-Encoding: chunked")}2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n`,
  "chunks after another encoding": `${head("Transfer-Encoding: x, chunked")}2\r\nhi\r\n0\r\n\r\n`,
  "neither length nor chunks": `${head("Content-Type: text/plain")}until the end`,
  "another transfer encoding": `${head("Transfer-Encoding: identity")}hi`,
  "HTTP/1.0": "HTTP/1.0 200 OK\r\n\r\nhi",
  "no reason": "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi",
  "an interim response": `HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\n${head("Content-Length: 2")}hi`,
  "a status without a body": "HTTP/1.1 204 No Content\r\n\r\n",
  "an error status": "HTTP/1.1 503 Busy\r\nRetry-After: 3\r\nContent-Length: 4\r\n\r\nbusy",
  "repeated headers": head(
    "X-A: 1",
    "Content-Type: a/b",
    "x-a:  2 ",
    "Content-Type: c/d",
    "Content-Length: 0",
  ),
  "a header without a value": head("X-A:", "Content-Length: 0"),
  "line feeds alone": "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
  "line feeds alone in chunks": `${head("Transfer-Encoding: chunked")}2\nhi\n0\n\n`,
  "a folded header": `${head("X-A: a", " b", "Content-Length: 2")}hi`,
  "two lengths": `${head("Content-Length: 2", "Content-Length: 2")}hi`,
  "length and chunks": `${head("Content-Length: 2", "Transfer-Encoding: chunked")}2\r\nhi\r\n0\r\n\r\n`,
  "a space in a name": `${head("X A: 1", "Content-Length: 2")}hi`,
  "a space before the colon": `${head("Content-Length : 2")}hi`,
  "a signed length": `${head("Content-Length: +2")}hi`,
  "an empty length": `${head("Content-Length:")}hi`,
  "a control character": `${head("X-A: a\u0001b", "Content-Length: 2")}hi`,
  "an empty name": `${head(": b", "Content-Length: 2")}hi`,
  "a line without a colon": `${head("foo", "Content-Length: 2")}hi`,
  "a size that is no number": `${head("Transfer-Encoding: chunked")}x\r\nhi\r\n0\r\n\r\n`,
  "a chunk that is longer than its size": `${head("Transfer-Encoding: chunked")}1\r\nhi\r\n0\r\n\r\n`,
  "another protocol": "SSH-2.0-OpenSSH_9.6\r\n\r\n",
  nothing: "",
  "half a head": "HTTP/1.1 200 OK\r\nContent-Le",
  "half a body": `${head("Content-Length: 20")}half`,
  "half a chunk": `${head("Transfer-Encoding: chunked")}9\r\nhalf`,
  "a head that is too large": head(`X-A: ${"a".repeat(http.maxHeaderSize)}`, "Content-Length: 0"),
};

let server: net.Server;
beforeAll(async () => {
  server = net.createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (request: Buffer) => {
      const name = decodeURIComponent(/^GET \/(\S+)/.exec(request.toString())?.[1] ?? "");
      socket.end(Buffer.from(responses[name] ?? "", "latin1"));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.close();
});

interface ReadResponse {
  readonly status: number | undefined;
  readonly headers: unknown;
  readonly body: string;
}

const byNode = (name: string): Promise<ReadResponse | "refused"> =>
  new Promise((resolve) => {
    const { port } = server.address() as AddressInfo;
    const path = `/${encodeURIComponent(name)}`;
    http
      .get({ host: "127.0.0.1", port, path, agent: false }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("error", () => resolve("refused"));
        response.on("end", () =>
          resolve({
            status: response.statusCode,
            headers: { ...response.headers },
            body: Buffer.concat(parts).toString("latin1"),
          }),
        );
      })
      .on("error", () => resolve("refused"));
  });

function byReader(name: string, partBytes: number): ReadResponse | "refused" {
  const bytes = Buffer.from(responses[name] ?? "", "latin1");
  const reader = new ResponseReader(1_000);
  try {
    for (let at = 0; at < bytes.length && !reader.isComplete; at += partBytes)
      reader.push(bytes.subarray(at, at + partBytes));
    if (!reader.isComplete) reader.end();
  } catch {
    return "refused";
  }
  const { status, headers, body } = reader;
  return { status, headers, body: body.toString("latin1") };
}

test.each(Object.keys(responses))(
  "a response with %s is read as Node's client reads it",
  async (name) => {
    const expected = await byNode(name);
    for (const partBytes of [1, 7, 100_000]) expect(byReader(name, partBytes)).toEqual(expected);
  },
);

const read = (text: string, maxBytes = 1_000): ResponseReader => {
  const reader = new ResponseReader(maxBytes);
  reader.push(Buffer.from(text, "latin1"));
  return reader;
};

test.each([
  [`${head("Content-Length: 2")}hi`, true],
  [`${head("Transfer-Encoding: chunked")}0\r\n\r\n`, true],
  [`${head("Content-Length: 2", "Connection: close")}hi`, false],
  [`${head("Content-Length: 2")}hiMORE`, false],
  ["HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false],
  ["HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", true],
  [head("Content-Type: text/plain"), false],
])("after %j the connection can be used again: %s", (text, isReusable) => {
  expect(read(text).isReusable).toBe(isReusable);
});

test("a body larger than the limit is refused as soon as it is, in whole and in chunks", () => {
  expect(read(`${head("Content-Length: 9")}123456789`, 9).body.toString()).toBe("123456789");
  expect(() => read(`${head("Content-Length: 90")}1234567890`, 9)).toThrow(BodyLimitError);
  const chunked = `${head("Transfer-Encoding: chunked")}5\r\n12345\r\n5\r\n67890\r\n`;
  expect(() => read(chunked, 9)).toThrow(BodyLimitError);
  expect(() => read(`${head()}1234567890`, 9)).toThrow(BodyLimitError);
});

test("trailers without an end are refused", () => {
  const reader = read(`${head("Transfer-Encoding: chunked")}0\r\n`);
  expect(() => {
    for (let line = 0; line < 100_000; line++) reader.push(Buffer.from("X-A: a\r\n"));
  }).toThrow(/trailer is too large/);
});

test("a header named __proto__ leaves the headers an ordinary object", () => {
  const { headers } = read(head("__proto__: x", "constructor: y", "Content-Length: 0"));
  expect(Object.getPrototypeOf(headers)).toBe(Object.prototype);
  expect(headers["constructor"]).toBe("y");
});
