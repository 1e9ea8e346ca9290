import http from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { HttpRequestError, request } from "./request.ts";

let base: string;
let other: string;
const servers: http.Server[] = [];
const seen: http.IncomingHttpHeaders[] = [];

const answers: Record<string, (asked: http.IncomingMessage, answer: http.ServerResponse) => void> =
  {
    "/plain": (_asked, answer) => answer.end("plain"),
    "/gzip": (_asked, answer) =>
      answer.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("packed")),
    "/bomb": (_asked, answer) =>
      answer.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(5_000_000))),
    "/not-gzip": (_asked, answer) =>
      answer.writeHead(200, { "content-encoding": "gzip" }).end("no"),
    "/brotli": (_asked, answer) => answer.writeHead(200, { "content-encoding": "br" }).end("x"),
    "/large": (_asked, answer) => answer.end(Buffer.alloc(100_000)),
    "/silent": () => {},
    "/half": (_asked, answer) => {
      answer.writeHead(200, { "content-length": "100" }).write("half");
      setTimeout(() => answer.destroy(), 10);
    },
    "/away": (_asked, answer) => answer.writeHead(302, { location: `${other}/plain` }).end(),
    "/round": (_asked, answer) => answer.writeHead(302, { location: "/round" }).end(),
  };

async function listen(): Promise<string> {
  const server = http.createServer((asked, answer) => {
    seen.push(asked.headers);
    answers[asked.url ?? ""]?.(asked, answer);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  base = await listen();
  other = await listen();
});
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

const ask = (path: string, more = {}) =>
  request(`${base}${path}`, { timeoutMs: 5_000, maxBytes: 10_000, ...more });
const kindOf = (path: string, more = {}): Promise<string> =>
  ask(path, more).then(
    () => "answered",
    (thrown: unknown) => (thrown instanceof HttpRequestError ? thrown.kind : "other"),
  );

test("an answer comes as it is, or unpacked", async () => {
  expect((await ask("/plain")).body.toString()).toBe("plain");
  expect((await ask("/gzip")).body.toString()).toBe("packed");
});

test.each([
  ["/bomb", "too-large"],
  ["/large", "too-large"],
  ["/not-gzip", "encoding"],
  ["/brotli", "encoding"],
  ["/half", "connection"],
])("%s is refused: %s", async (path, kind) => {
  expect(await kindOf(path)).toBe(kind);
});

test("what does not answer is a timeout, what the caller gives up is distinguished", async () => {
  expect(await kindOf("/silent", { timeoutMs: 50 })).toBe("timeout");
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 20);
  expect(await kindOf("/silent", { signal: stop.signal })).toBe("aborted");
  expect(await kindOf("/plain", { signal: AbortSignal.abort() })).toBe("aborted");
});

test("a redirect is followed only when asked, without credentials to another host, and not for ever", async () => {
  const headers = { authorization: "Bearer secret", "x-api-key": "secret", accept: "text/plain" };
  expect((await ask("/away", { headers })).status).toBe(302);
  const followed = await ask("/away", { headers, maxRedirects: 3 });
  expect(followed.body.toString()).toBe("plain");
  expect(seen.at(-1)?.accept).toBe("text/plain");
  expect(JSON.stringify(seen.at(-1))).not.toContain("secret");
  expect(await kindOf("/round", { maxRedirects: 3 })).toBe("redirect");
});

test("errors are reported without user, password or query", async () => {
  const url = "http://me:hunter2@127.0.0.1:1/x?token=hunter2";
  await expect(request(url, { timeoutMs: 2_000, maxBytes: 10 })).rejects.toThrow(
    /^(?!.*hunter2).*127\.0\.0\.1:1\/x/,
  );
});
