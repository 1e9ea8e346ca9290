import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { HttpAgent, HttpRequestError, request, type RequestOptions } from "./request.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

async function listen(server: net.Server): Promise<string> {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket: net.Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function agentOf(maxSockets?: number): HttpAgent {
  const agent = new HttpAgent({}, maxSockets);
  ends.push(() => agent.close());
  return agent;
}

const ask = async (url: string, agent: HttpAgent, more: Partial<RequestOptions> = {}) =>
  (await request(url, { timeoutMs: 5_000, maxBytes: 10_000, agent, ...more })).body.toString();

const errorOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => "answered",
    (thrown: unknown) => (thrown instanceof HttpRequestError ? thrown.kind : thrown),
  );

test("requests one after another use one connection, with the headers that were given", async () => {
  const seen: http.IncomingHttpHeaders[] = [];
  const ports = new Set<number | undefined>();
  const base = await listen(
    http.createServer((asked, answer) => {
      seen.push(asked.headers);
      ports.add(asked.socket.remotePort);
      answer.end(asked.url);
    }),
  );
  const agent = agentOf();
  for (const path of ["/a", "/b?x=%C3%A9%20y", "/ü"])
    expect(await ask(`${base}${path}`, agent, { headers: { "x-a": "1" } })).toBe(
      new URL(`${base}${path}`).href.slice(base.length),
    );
  expect(ports.size).toBe(1);
  expect(seen[0]).toEqual({
    host: base.slice("http://".length),
    connection: "keep-alive",
    "accept-encoding": "gzip",
    "x-a": "1",
  });
});

test("no more connections than allowed are open to one address, and all requests are answered", async () => {
  const ports = new Set<number | undefined>();
  const base = await listen(
    http.createServer((asked, answer) => {
      ports.add(asked.socket.remotePort);
      setImmediate(() => answer.end(asked.url));
    }),
  );
  const agent = agentOf(2);
  const paths = Array.from({ length: 9 }, (_, at) => `/${at}`);
  expect(await Promise.all(paths.map((path) => ask(`${base}${path}`, agent)))).toEqual(paths);
  expect(ports.size).toBe(2);
});

test("a connection that the server closed while it was idle is not used again", async () => {
  const server = http.createServer((_, answer) => answer.end("x"));
  const closed = new Promise((resolve) =>
    server.on("connection", (socket) => socket.on("close", resolve)),
  );
  const base = await listen(server);
  const agent = agentOf();
  expect(await ask(base, agent)).toBe("x");
  server.closeIdleConnections();
  await closed;
  // The client learns of it in the next turn of the event loop.
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await ask(base, agent)).toBe("x");
});

test("a connection that the server is about to close is not used again", async () => {
  const ports = new Set<number | undefined>();
  const server = http.createServer((asked, answer) => {
    ports.add(asked.socket.remotePort);
    answer.end("x");
  });
  // Announced as `Keep-Alive: timeout=1`, of which a second is the margin.
  server.keepAliveTimeout = 1_000;
  const base = await listen(server);
  const agent = agentOf();
  for (let round = 0; round < 2; round++) expect(await ask(base, agent)).toBe("x");
  expect(ports.size).toBe(2);
});

test("connections that a burst opened are used in turn, so that none idles until the server closes it", async () => {
  const ports: (number | undefined)[] = [];
  let waiting: http.ServerResponse[] | undefined = [];
  const base = await listen(
    http.createServer((asked, answer) => {
      ports.push(asked.socket.remotePort);
      if (waiting === undefined) answer.end("x");
      else if (waiting.push(answer) === 3) {
        for (const one of waiting) one.end("x");
        waiting = undefined;
      }
    }),
  );
  const agent = agentOf();
  await Promise.all([1, 2, 3].map(() => ask(base, agent)));
  expect(new Set(ports.splice(0)).size).toBe(3);
  for (let at = 0; at < 6; at++) await ask(base, agent);
  expect(new Set(ports.slice(0, 3)).size).toBe(3);
  expect(ports.slice(3)).toEqual(ports.slice(0, 3));
});

test("bytes that nobody asked for end the connection, and are not the next response", async () => {
  let onClosed: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => (onClosed = resolve));
  const base = await listen(
    net.createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("close", () => onClosed());
      socket.on("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        setTimeout(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"), 5);
      });
    }),
  );
  const agent = agentOf();
  expect(await ask(base, agent)).toBe("x");
  await closed;
  expect(await ask(base, agent)).toBe("x");
});

test("a request that waits for a connection can be given up, and the others go on", async () => {
  const answers: http.ServerResponse[] = [];
  const base = await listen(http.createServer((_, answer) => void answers.push(answer)));
  const agent = agentOf(1);
  const first = ask(base, agent);
  const stop = new AbortController();
  const waiting = errorOf(ask(base, agent, { signal: stop.signal }));
  const late = errorOf(ask(base, agent, { timeoutMs: 30 }));
  const last = ask(base, agent);
  stop.abort();
  expect(await waiting).toBe("aborted");
  expect(await late).toBe("timeout");
  while (answers.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  answers.shift()?.end("first");
  expect(await first).toBe("first");
  while (answers.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  answers.shift()?.end("last");
  expect(await last).toBe("last");
});

test("a timeout in the middle of a body closes the connection", async () => {
  const server = http.createServer((_, answer) => {
    answer.writeHead(200, { "content-length": "10" }).write("half");
  });
  const closed = new Promise((resolve) =>
    server.on("connection", (socket) => socket.on("close", resolve)),
  );
  const base = await listen(server);
  expect(await errorOf(ask(base, agentOf(), { timeoutMs: 50 }))).toBe("timeout");
  await closed;
});

test("closing the agent ends what runs", async () => {
  const server = http.createServer();
  const asked = new Promise((resolve) => server.on("request", resolve));
  const base = await listen(server);
  const agent = new HttpAgent();
  const found = errorOf(ask(base, agent));
  await asked;
  agent.close();
  expect(await found).toBe("connection");
});

test("a body that ends with the connection is incomplete if the agent is closed meanwhile", async () => {
  let written: (() => void) | undefined;
  const half = new Promise<void>((resolve) => (written = resolve));
  const base = await listen(
    net.createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\n\r\nhalf", () => written?.()));
    }),
  );
  const agent = new HttpAgent();
  const found = errorOf(ask(base, agent));
  await half;
  await new Promise((resolve) => setTimeout(resolve, 50));
  agent.close();
  expect(await found).toBe("connection");
});

test("a refused connection is reported with its code", async () => {
  const free = net.createServer();
  const base = await listen(free);
  await new Promise((resolve) => free.close(resolve));
  const thrown = await request(base, { timeoutMs: 5_000, maxBytes: 1, agent: agentOf() }).catch(
    (error: unknown) => error,
  );
  expect(thrown).toMatchObject({ kind: "connection", cause: { code: "ECONNREFUSED" } });
});

test("a header cannot add a line to the request", async () => {
  const headers = { "x-a": "1\r\nx-b: 2" };
  const base = await listen(http.createServer((_, answer) => answer.end("x")));
  expect(await errorOf(ask(base, agentOf(), { headers }))).toBe("connection");
});

test("user and password of a URL are sent, as before", async () => {
  const base = await listen(
    http.createServer((asked, answer) => answer.end(asked.headers.authorization)),
  );
  const url = base.replace("://", "://me:pass@");
  expect(await ask(url, agentOf())).toBe(`Basic ${Buffer.from("me:pass").toString("base64")}`);
});
