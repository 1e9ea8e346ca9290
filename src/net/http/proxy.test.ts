import http from "node:http";
import https from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import net from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeAuthority } from "../../../engines/certificates.ts";
import { type HttpClientConfig, plainHttpClient } from "./auth-config.ts";
import { HttpClient } from "./client.ts";
import { parseProxy, type ProxyConfig, proxyRoutes } from "./proxy.ts";
import { request } from "./request.ts";
import { Secret } from "./secret.ts";

const none: ProxyConfig = { noProxy: "", fromEnvironment: false, connectHeaders: {} };
const shownProxy = (config: ProxyConfig, env: Record<string, string>, target: string) => {
  const proxy = proxyRoutes(config, env)(new URL(target));
  return proxy === undefined ? "direct" : `${proxy.protocol}//${proxy.host}:${proxy.port}`;
};

const envProxies = {
  HTTP_PROXY: "http://h:1",
  https_proxy: "s:2",
  NO_PROXY: "a.example,.b.example",
};
test.each([
  ["", "http://x.example/", "http://p:3128"],
  ["", "http://localhost/", "http://p:3128"],
  ["x.example", "http://x.example/", "direct"],
  ["x.example", "http://www.x.example/", "direct"],
  ["x.example", "http://yx.example/", "http://p:3128"],
  [".x.example", "http://x.example/", "http://p:3128"],
  [".x.example", "http://www.x.example/", "direct"],
  ["*.x.example", "https://www.x.example/", "direct"],
  ["x.example:8080", "http://x.example/", "http://p:3128"],
  ["x.example:8080", "http://x.example:8080/", "direct"],
  ["x.example:443", "https://x.example/", "direct"],
  ["10.0.0.0/8, 192.0.2.7", "http://10.1.2.3/", "direct"],
  ["10.0.0.0/8, 192.0.2.7", "http://192.0.2.7:90/", "direct"],
  ["10.0.0.0/8, 192.0.2.7", "http://192.0.2.8/", "http://p:3128"],
  ["fd00::/8", "http://[fd00::1]/", "direct"],
  ["*", "http://x.example/", "direct"],
  ["x.example", "http://localhost/", "direct"],
  ["x.example", "http://127.0.0.2/", "direct"],
  ["x.example", "http://[::1]/", "direct"],
])("with no_proxy %j, %s goes by %s", (noProxy, target, wanted) => {
  expect(shownProxy({ ...none, url: new Secret("http://u:p@p:3128"), noProxy }, {}, target)).toBe(
    wanted,
  );
});

test.each([
  ["http://x.example/", "http://h:1"],
  ["https://x.example/", "http://s:2"],
  ["https://a.example/", "direct"],
  ["https://b.example/", "http://s:2"],
  ["https://c.b.example/", "direct"],
  ["http://127.0.0.1/", "direct"],
])("by the environment, %s goes by %s", (target, wanted) => {
  expect(shownProxy({ ...none, fromEnvironment: true }, envProxies, target)).toBe(wanted);
});

test.each(["ftp://p", "p:3128", "", "http://", "socks4://p", "http://%zz@p"])(
  "%j is no proxy",
  (text) => {
    expect(parseProxy(text)).toBeUndefined();
  },
);

interface Proxy {
  readonly port: number;
  readonly asked: string[];
}

const sockets = new Set<Socket>();
const servers: Server[] = [];
const listen = async (server: Server): Promise<number> => {
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
};

const authority = makeAuthority("proxy test CA");
const certificate = authority.issue({ commonName: "target.example", names: ["target.example"] });
let plainPort = 0;
let securePort = 0;
beforeEach(async () => {
  const answer: http.RequestListener = ({ method, url }, response) => {
    response.end(`${method ?? ""} ${url ?? ""}`);
  };
  plainPort = await listen(http.createServer(answer));
  securePort = await listen(https.createServer(certificate, answer));
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0))
    await new Promise<void>((resolve) => server.close(() => resolve()));
});

/** An HTTP proxy that resolves one name, target.example, and records its requests. */
async function startProxy(login?: string): Promise<Proxy> {
  const asked: string[] = [];
  const server = http.createServer((incoming, outgoing) => {
    asked.push(
      `${incoming.method ?? ""} ${incoming.url ?? ""} ${incoming.headers.host ?? ""} ${incoming.headers["proxy-authorization"] ?? "none"}`,
    );
    const { pathname } = new URL(incoming.url ?? "");
    http.get({ host: "127.0.0.1", port: plainPort, path: pathname }, (answer) =>
      answer.pipe(outgoing),
    );
  });
  server.on("connect", (incoming, client: Socket) => {
    const { "proxy-authorization": given = "none", "x-key": key = "none" } = incoming.headers;
    asked.push(`CONNECT ${incoming.url ?? ""} ${given} ${String(key)}`);
    if (login !== undefined && given !== login) {
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
      return;
    }
    const target = net.connect(securePort, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(target).pipe(client);
    });
    target.on("error", () => client.destroy());
  });
  return { port: await listen(server), asked };
}

/** A SOCKS5 proxy that requires the login, if one is configured. */
async function startSocks(login?: string): Promise<Proxy> {
  const asked: string[] = [];
  const server = net.createServer((client) => {
    let step = 0;
    client.on("data", (bytes: Buffer) => {
      step++;
      if (step === 1) return void client.write(Buffer.from([5, login === undefined ? 0 : 2]));
      if (step === 2 && login !== undefined) {
        const userBytes = bytes[1] ?? 0;
        const given = `${bytes.subarray(2, 2 + userBytes).toString()}:${bytes.subarray(3 + userBytes).toString()}`;
        return void client.write(Buffer.from([1, given === login ? 0 : 1]));
      }
      const nameBytes = bytes[4] ?? 0;
      const port = bytes.readUInt16BE(5 + nameBytes);
      asked.push(`${bytes.subarray(5, 5 + nameBytes).toString()}:${port}`);
      client.removeAllListeners("data");
      const target = net.connect(port === 443 ? securePort : plainPort, "127.0.0.1", () => {
        client.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]));
        client.pipe(target).pipe(client);
      });
    });
  });
  return { port: await listen(server), asked };
}

async function get(url: string, proxy: ProxyConfig): Promise<string> {
  const config: HttpClientConfig = {
    ...plainHttpClient,
    tls: { insecureSkipVerify: false, ca: authority.cert },
    proxy,
  };
  const client = new HttpClient(config);
  try {
    const { headers, agent } = await client.options();
    const answer = await request(url, { headers, agent, timeoutMs: 5_000, maxBytes: 1_000 });
    return `${answer.status} ${answer.body.toString()}`;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } finally {
    client.close();
  }
}

const basic = `Basic ${Buffer.from("u:hunter2").toString("base64")}`;

test("without TLS a proxy is asked for the whole address", async () => {
  const { port, asked } = await startProxy();
  const url = new Secret(`http://u:hunter2@127.0.0.1:${port}`);
  expect(await get("http://target.example/a?b=c", { ...none, url })).toBe("200 GET /a");
  expect(asked).toEqual([`GET http://target.example/a?b=c target.example ${basic}`]);
});

test("with TLS a tunnel is opened with CONNECT, its own headers and the login", async () => {
  const { port, asked } = await startProxy(basic);
  const url = new Secret(`http://u:hunter2@127.0.0.1:${port}`);
  const connectHeaders = { "X-Key": [new Secret("k1"), new Secret("k2")] };
  expect(await get("https://target.example/a", { ...none, url, connectHeaders })).toBe(
    "200 GET /a",
  );
  expect(asked).toEqual([`CONNECT target.example:443 ${basic} k1, k2`]);
});

test("a proxy that refuses is named without its password", async () => {
  const { port } = await startProxy(basic);
  const url = new Secret(`http://u:hunter3@127.0.0.1:${port}`);
  const said = await get("https://target.example/a", { ...none, url });
  expect(said).toContain(`the proxy 127.0.0.1:${port} answered CONNECT with 407`);
  expect(said).not.toContain("hunter3");
});

test("a proxy that is not there is named", async () => {
  const { port } = await startProxy();
  for (const server of servers.splice(2)) await new Promise((resolve) => server.close(resolve));
  const url = new Secret(`http://127.0.0.1:${port}`);
  expect(await get("https://target.example/a", { ...none, url })).toMatch(
    new RegExp(`the proxy 127.0.0.1:${port}: .*ECONNREFUSED`),
  );
});

test.each([
  ["http://target.example/a", undefined, "target.example:80"],
  ["https://target.example/a", undefined, "target.example:443"],
  ["https://target.example/a", "u:hunter2", "target.example:443"],
])("%s goes by SOCKS5 with the login %s", async (target, login, wanted) => {
  const { port, asked } = await startSocks(login);
  const url = new Secret(`socks5://u:hunter2@127.0.0.1:${port}`);
  expect(await get(target, { ...none, url })).toBe("200 GET /a");
  expect(asked).toEqual([wanted]);
});

test("a SOCKS5 proxy that refuses the login says so", async () => {
  const { port } = await startSocks("u:other");
  const url = new Secret(`socks5://u:hunter2@127.0.0.1:${port}`);
  const said = await get("https://target.example/a", { ...none, url });
  expect(said).toContain("refused the user name or the password");
  expect(said).not.toContain("hunter2");
});
