/** Tests every way to open a connection with every spelling of an address that must not be contacted. */
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import type { AddressInfo, LookupFunction } from "node:net";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import tls from "node:tls";
import { afterEach, expect, test } from "vitest";
import { type AddressRange, parseRange } from "./address-ranges.ts";
import { checkAddress, guardSockets, type OutboundRule } from "./outbound.ts";
import { request } from "./request.ts";

const ends: (() => void)[] = [];
const reported: string[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
  reported.length = 0;
});

const rangesOf = (texts: readonly string[]): AddressRange[] =>
  texts.map((text) => {
    const range = parseRange(text);
    if (range === undefined) throw new Error(text);
    return range;
  });
const rule = (privateAllowed: boolean, ...allow: string[]): OutboundRule => ({
  privateAllowed,
  allow: rangesOf(allow),
});
const guard = (given: OutboundRule): void =>
  void ends.push(guardSockets(given, ({ address }, name) => reported.push(`${name} ${address}`)));

test.each([
  ["169.254.169.254", "metadata"],
  ["169.254.1.1", "link-local"],
  ["100.100.100.200", "metadata"],
  ["168.63.129.16", "metadata"],
  ["0.0.0.0", "not the address"],
  ["0.1.2.3", "not the address"],
  ["255.255.255.255", "not the address"],
  ["224.0.0.1", "multicast"],
  ["239.255.255.250", "multicast"],
  ["::", "not the address"],
  ["fe80::1", "link-local"],
  ["fe80::1%eth0", "link-local"],
  ["febf::1", "link-local"],
  ["ff02::1", "multicast"],
  ["fd00:ec2::254", "metadata"],
  ["::ffff:169.254.169.254", "metadata"],
  ["::ffff:a9fe:a9fe", "metadata"],
  ["0:0:0:0:0:ffff:169.254.169.254", "metadata"],
  ["::169.254.169.254", "metadata"],
  ["64:ff9b::a9fe:a9fe", "metadata"],
  ["64:ff9b::169.254.169.254", "metadata"],
  ["2002:a9fe:a9fe::1", "metadata"],
])("%s is %s, and never contacted by itself", (address, name) => {
  expect(checkAddress(rule(true), address, 80)?.message).toContain(name);
  expect(checkAddress(rule(true, "0.0.0.0/0", "::/0"), address, 80)).toBeDefined();
});

test.each([
  "127.0.0.1",
  "127.9.9.9",
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "198.18.0.1",
  "::1",
  "fd12:3456::1",
  "fec0::1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "64:ff9b::a00:1",
  "2002:0a00:0001::1",
])("%s is private: contacted only where that is allowed", (address) => {
  expect(checkAddress(rule(true), address, 80)).toBeUndefined();
  expect(checkAddress(rule(false), address, 80)).toBeDefined();
});

test.each([
  "8.8.8.8",
  "172.32.0.1",
  "100.128.0.1",
  "2606:4700::1",
  "::ffff:8.8.8.8",
  "example.com",
])("%s is anybody's", (address) => expect(checkAddress(rule(false), address, 443)).toBeUndefined());

test.each([
  ["10.0.0.0/8", "10.1.2.3", 80, true],
  ["10.0.0.0/8", "11.0.0.1", 80, true],
  ["10.0.0.0/8", "192.168.0.1", 80, false],
  ["10.0.0.0/8", "::ffff:10.1.2.3", 80, true],
  ["127.0.0.1:9410", "127.0.0.1", 9410, true],
  ["127.0.0.1:9410", "127.0.0.1", 9411, false],
  ["[::1]:9410", "::1", 9410, true],
  ["[fd00::]/8", "fd12::1", 80, true],
  ["fd00::/8", "fd12::1", 80, true],
  ["169.254.169.254", "169.254.169.254", 80, true],
  ["169.254.0.0/16", "169.254.169.254", 80, false],
  ["169.254.0.0/16", "169.254.7.7", 80, true],
  ["192.168.1.130/25", "192.168.1.129", 80, true],
  ["192.168.1.130/25", "192.168.1.1", 80, false],
])("with %s allowed, %s:%i may be contacted: %s", (allow, address, port, may) => {
  expect(checkAddress(rule(false, allow), address, port) === undefined).toBe(may);
});

test.each([
  "",
  "10",
  "10.0.0.0/33",
  "10.0.0.0.0/8",
  "example.com",
  "::1/129",
  "1.2.3.4:99999",
  "a",
])("%j is no range", (text) => expect(parseRange(text)).toBeUndefined());

/** Accepts connections and counts them. */
async function server(listener: http.RequestListener = (_request, reply) => void reply.end("ok")) {
  const own = http.createServer(listener);
  let taken = 0;
  own.on("connection", () => taken++);
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  ends.push(
    () => own.close(),
    () => own.closeAllConnections(),
  );
  const { port } = own.address() as AddressInfo;
  return { port, taken: () => taken };
}

const failed = (socket: net.Socket): Promise<string> =>
  new Promise((resolve, reject) => {
    ends.push(() => socket.destroy());
    socket.once("error", (problem) => resolve("code" in problem ? String(problem.code) : ""));
    socket.once("connect", () => reject(new Error("it connected")));
  });

test.each([
  ["net.connect with options", (port: number) => net.connect({ host: "127.0.0.1", port })],
  ["net.connect with a port and a host", (port: number) => net.connect(port, "127.0.0.1")],
  ["net.connect with a port alone", (port: number) => net.connect(port)],
  ["net.connect by name", (port: number) => net.connect({ host: "localhost", port })],
  ["socket.connect", (port: number) => new net.Socket().connect(port, "127.0.0.1")],
  ["socket.connect with options", (port: number) => new net.Socket().connect({ port })],
  ["an octal spelling", (port: number) => net.connect({ host: "0177.0.0.1", port })],
  ["a decimal spelling", (port: number) => net.connect({ host: "2130706433", port })],
  ["a short spelling", (port: number) => net.connect({ host: "127.1", port })],
  ["tls.connect", (port: number) => tls.connect({ host: "127.0.0.1", port })],
  ["tls.connect by name", (port: number) => tls.connect({ host: "localhost", port })],
  [
    "a look-up of the caller's own",
    (port: number) =>
      net.connect({
        host: "example.com",
        port,
        lookup: (_name, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
      }),
  ],
] as const)("%s is refused before anything is sent", async (_name, connect) => {
  const { port, taken } = await server();
  guard(rule(false));
  expect(await failed(connect(port))).toBe("EOUTBOUND");
  expect(taken()).toBe(0);
  expect(reported.length).toBeGreaterThan(0);
});

test.each(["http", "https"])(
  "%s requests, ours and fetch, are refused with the reason",
  async (scheme) => {
    const { port, taken } = await server();
    guard(rule(false));
    const url = `${scheme}://127.0.0.1:${port}/`;
    const asked = request(url, { timeoutMs: 30_000, maxBytes: 100 });
    await expect(asked).rejects.toThrow("this machine, which is blocked: allow it with");
    await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "EOUTBOUND" } });
    const raw = (scheme === "http" ? http : https).get(url);
    await new Promise((resolve) => raw.once("error", resolve));
    expect(taken()).toBe(0);
  },
);

test.each([
  "http://2130706433:PORT/",
  "http://0x7f000001:PORT/",
  "http://0177.0.0.1:PORT/",
  "http://127.1:PORT/",
  "http://localhost:PORT/",
  "http://localhost.:PORT/",
  "http://127.0.0.1.:PORT/",
  "http://[::ffff:127.0.0.1]:PORT/",
  "http://[::ffff:7f00:1]:PORT/",
  "http://example.com@127.0.0.1:PORT/",
  "http://example.com:80@127.0.0.1:PORT/",
  "http://127.0.0.1:PORT#@example.com/",
  "http://①②⑦.0.0.1:PORT/",
])("%s leads nowhere", async (url) => {
  const { port, taken } = await server();
  guard(rule(false));
  const asked = request(url.replace("PORT", String(port)), { timeoutMs: 30_000, maxBytes: 100 });
  await expect(asked).rejects.toThrow(/is blocked|ENOTFOUND|EAI_AGAIN/);
  expect(taken()).toBe(0);
});

test("a redirect is checked as well", async () => {
  const inner = await server();
  const outer = await server((_request, reply) =>
    reply.writeHead(302, { location: `http://localhost:${inner.port}/` }).end(),
  );
  guard(rule(false, `127.0.0.1:${outer.port}`));
  const asked = request(`http://127.0.0.1:${outer.port}/`, {
    timeoutMs: 30_000,
    maxBytes: 100,
    maxRedirects: 5,
  });
  await expect(asked).rejects.toThrow("is blocked");
  expect([outer.taken(), inner.taken()]).toEqual([1, 0]);
});

test("a name that resolves to good and bad addresses reaches only the good", async () => {
  const { port } = await server();
  guard(rule(false, "127.0.0.1"));
  const lookup = ((_name, _options, done) =>
    done(null, [
      { address: "169.254.169.254", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ])) as LookupFunction;
  const socket = net.connect({ host: "rebound.example", port, lookup });
  ends.push(() => socket.destroy());
  await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  expect(socket.remoteAddress).toBe("127.0.0.1");
  expect(reported).toEqual(["rebound.example 169.254.169.254"]);
});

test("what is allowed works as before: requests, keep-alive, names, sockets of files", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-outbound-"));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const { port, taken } = await server();
  const local = net.createServer((socket) => socket.end("hello"));
  const file = path.join(folder, "socket");
  await new Promise<void>((resolve) => local.listen(file, resolve));
  ends.push(() => local.close());
  guard(rule(true));
  for (const host of ["127.0.0.1", "localhost"]) {
    const answer = await request(`http://${host}:${port}/`, { timeoutMs: 30_000, maxBytes: 100 });
    expect(answer.body.toString()).toBe("ok");
  }
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("ok");
  expect(taken()).toBe(3);
  const said = net.connect(file).setEncoding("utf8");
  expect((await said.toArray()).join("")).toBe("hello");
  expect(reported).toEqual([]);
});

test("without the guard everything is as it was", async () => {
  const { port, taken } = await server();
  guard(rule(false));
  ends.pop()?.();
  await request(`http://127.0.0.1:${port}/`, { timeoutMs: 30_000, maxBytes: 100 });
  expect(taken()).toBe(1);
});
