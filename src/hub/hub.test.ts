import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { gpu } from "../model/catalogue/index.ts";
import { LatestFrames } from "../sinks/latest/latest.ts";
import { buildHub, createHub, type Hub, type HubOptions } from "./hub.ts";
import { openListener, type ReadyState } from "./listener.ts";
import { delivery, first, second } from "../../test/fixtures/view/live.ts";
import { applyChanges } from "../view/live/changes.ts";
import { decodeFleet, type WireFleetColumns } from "../view/live/fleet-columns.ts";
import type { LiveFrame, WireChanges, WireFleet } from "../view/live/protocol.ts";

let webDir = "";
const hubs: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  webDir = await mkdtemp(path.join(tmpdir(), "gpulse-web-"));
  await mkdir(path.join(webDir, "assets"));
  await writeFile(path.join(webDir, "index.html"), "<!doctype html><title>gpulse</title>");
  await writeFile(path.join(webDir, "assets", "app-1a2b3c.js"), "export {};");
});
afterAll(() => rm(webDir, { recursive: true }));
afterEach(async () => {
  for (const hub of hubs.splice(0)) await hub.close();
});

const options = (changes: Partial<HubOptions> = {}): HubOptions => ({
  latest: new LatestFrames(),
  host: "127.0.0.1",
  port: 0,
  hostName: "lab",
  webDir,
  log: silentLog,
  nowMs: () => Date.now(),
  version: "1.2.3",
  metricsPage: (accept) => ({
    body: `# ${accept ?? "none"}\n`,
    contentType: "text/plain; version=0.0.4",
  }),
  stats: () => ({ devices: [] }),
  ready: () => ({ ready: true, problems: [] }),
  ...changes,
});

async function app(changes: Partial<HubOptions> = {}) {
  const built = await buildHub(options(changes));
  hubs.push(built);
  const get = (url: string, headers: Record<string, string> = {}) =>
    built.inject({ url, headers: { host: "localhost:9410", ...headers } });
  return { get, inject: built.inject.bind(built) };
}

async function listening(changes: Partial<HubOptions> = {}): Promise<Hub> {
  const hub = await createHub(options(changes));
  hubs.push(hub);
  return hub;
}

test("the page is never cached, its hashed files for ever", async () => {
  const { get } = await app();
  expect((await get("/")).headers["cache-control"]).toBe("no-store");
  expect((await get("/assets/app-1a2b3c.js")).headers["cache-control"]).toBe(
    "public, max-age=31536000, immutable",
  );
});

test.each(["/", "/api/fleet", "/metrics", "/nothing"])(
  "%s carries the headers that lock the page in",
  async (url) => {
    const { headers } = await (await app()).get(url);
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(headers["content-security-policy"]).not.toContain("unsafe");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["x-frame-options"]).toBe("DENY");
  },
);

test("a missing app gets a page that says what to do", async () => {
  const answer = await (await app({ webDir: path.join(webDir, "nowhere") })).get("/");
  expect(answer.statusCode).toBe(503);
  expect(answer.headers["content-type"]).toContain("text/html");
  expect(answer.body).toContain("npm run build");
});

async function docsSite(): Promise<string> {
  const docsDir = await mkdtemp(path.join(tmpdir(), "gpulse-docs-"));
  await mkdir(path.join(docsDir, "assets"));
  await writeFile(path.join(docsDir, "index.html"), "<title>docs</title>");
  await writeFile(path.join(docsDir, "404.html"), "<title>no such page</title>");
  await writeFile(path.join(docsDir, "assets", "app.1a2b3c.js"), "export {};");
  await writeFile(path.join(path.dirname(docsDir), `${path.basename(docsDir)}.txt`), "outside");
  hubs.push({
    close: async () => {
      await rm(docsDir, { recursive: true });
      await rm(`${docsDir}.txt`);
    },
  });
  return docsDir;
}

test("the documentation site is served under /docs/, cached as the page is, with a 404 page of its own", async () => {
  const { get } = await app({ docsDir: await docsSite() });
  const index = await get("/docs/");
  expect([index.statusCode, index.body]).toEqual([200, "<title>docs</title>"]);
  expect(index.headers["cache-control"]).toBe("no-cache");
  expect(index.headers["content-security-policy"]).not.toContain("unsafe");
  expect((await get("/docs")).headers.location).toBe("docs/");
  const again = await get("/docs/", { "if-none-match": String(index.headers.etag) });
  expect(again.statusCode).toBe(304);
  const asset = await get("/docs/assets/app.1a2b3c.js");
  expect(asset.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  const missing = await get("/docs/guides/nothing.html");
  expect([missing.statusCode, missing.body]).toEqual([404, "<title>no such page</title>"]);
  expect((await get("/nothing")).json()).toHaveProperty("error");
});

test.each(["/docs/../DIR.txt", "/docs/%2e%2e/DIR.txt", "/docs/..%2fDIR.txt", "/docs/assets/"])(
  "%s does not leave the documentation's folder, nor lists it",
  async (url) => {
    const docsDir = await docsSite();
    const { get } = await app({ docsDir });
    const answer = await get(url.replace("DIR", path.basename(docsDir)));
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.body).not.toMatch(/outside|app\./);
  },
);

test.each(["/docs", "/docs/", "/docs/guides/hub.html"])(
  "%s without a documentation site says how to build it",
  async (url) => {
    const answer = await (await app({ docsDir: path.join(webDir, "nowhere") })).get(url);
    expect(answer.statusCode).toBe(404);
    expect(answer.headers["content-type"]).toContain("text/html");
    expect(answer.body).toContain("npm run docs:site");
  },
);

test("an unknown route is one sentence of JSON", async () => {
  const answer = await (await app()).get("/api/nothing?x=1");
  expect(answer.statusCode).toBe(404);
  expect(answer.json()).toEqual({
    error: "There is nothing at GET /api/nothing: the page is at /.",
  });
});

test("a browser that opens an unknown address gets a page with the way back, also one with markup in it", async () => {
  const { get } = await app();
  const accept = "text/html,application/xhtml+xml";
  const answer = await get("/some/%3Cscript%3E'?x=1", { accept });
  expect(answer.statusCode).toBe(404);
  expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(answer.body).toContain('<a href="../fleet">Fleet</a>');
  expect(answer.body).not.toMatch(/<script|some\/%3Cscript%3E'/);
  expect((await get("/login.css")).headers["content-type"]).toContain("text/css");
});

test.each(["/../package.json", "/%2e%2e/package.json", "/..%2fpackage.json"])(
  "%s does not leave the app's folder",
  async (url) => {
    const { statusCode, body } = await (await app()).get(url);
    expect(statusCode).toBeGreaterThanOrEqual(400);
    expect(body).not.toContain("devDependencies");
  },
);

test.each(["evil.example", "evil.example:9410", "localhost.evil.example"])(
  "on loopback a request for host '%s' is refused",
  async (host) => {
    const { statusCode } = await (await app()).get("/api/fleet", { host });
    expect(statusCode).toBe(421);
  },
);

test.each(["localhost:1", "127.0.0.1:9410", "[::1]:9410"])(
  "on loopback a request for host %s is answered",
  async (host) => {
    expect((await (await app()).get("/api/fleet", { host })).statusCode).toBe(200);
  },
);

test("a hub open to the network answers to any name", async () => {
  expect(
    (await (await app({ host: "0.0.0.0" })).get("/api/fleet", { host: "gpus.example" })).statusCode,
  ).toBe(200);
});

test("/metrics passes on what the client accepts", async () => {
  const answer = await (await app()).get("/metrics", { accept: "application/openmetrics-text" });
  expect([answer.body, answer.headers["content-type"]]).toEqual([
    "# application/openmetrics-text\n",
    "text/plain; version=0.0.4",
  ]);
});

test("/-/ready says which sources do not deliver", async () => {
  const answer = await (
    await app({ ready: () => ({ ready: false, problems: ["nvidia: hung"] }) })
  ).get("/-/ready");
  expect([answer.statusCode, answer.json()]).toEqual([
    503,
    { ready: false, problems: ["nvidia: hung"] },
  ]);
  expect((await (await app()).get("/-/ready")).statusCode).toBe(200);
  expect((await (await app()).get("/-/healthy")).statusCode).toBe(200);
});

test("a failure inside is a 500 without its details", async () => {
  const failing = {
    stats: () => {
      throw new Error("secret detail");
    },
  };
  const answer = await (await app(failing)).get("/stats");
  expect(answer.statusCode).toBe(500);
  expect(answer.body).not.toContain("secret detail");
});

test("/api/fleet reports devices and newest readings once", async () => {
  const latest = new LatestFrames();
  latest.write(delivery("fast", Date.now(), [[first, gpu.power, 250]]));
  const fleet = (await (await app({ latest })).get("/api/fleet")).json<WireFleet>();
  expect(fleet.devices[0]).toMatchObject({
    uuid: first.uuid,
    index: 0,
    model: "NVIDIA H200",
    host: "lab",
  });
  expect(fleet.frame.rows[0]?.values).toContain(250);
});

test("the live stream starts with the fleet and goes on with frames", async () => {
  const latest = new LatestFrames();
  latest.write(delivery("fast", Date.now(), [[first, gpu.power, 250]]));
  const hub = await listening({ latest });
  const reader = await openStream(hub);
  const fleet = await reader.next();
  expect(fleet.event).toBe("fleet");
  expect((fleet.data as WireFleet).devices).toHaveLength(2);
  latest.write(delivery("fast", Date.now(), [[first, gpu.power, 300]]));
  const frame = await reader.next();
  expect(frame.event).toBe("frame");
  expect((frame.data as LiveFrame).rows[0]?.values).toContain(300);
  await reader.cancel();
});

test("a page reads the fleet by columns, and its first update is the changes since then", async () => {
  const latest = new LatestFrames();
  latest.write(delivery("fast", Date.now(), [[first, gpu.power, 250]]));
  const hub = await listening({ latest });
  const reader = await openStream(hub, "?changes=1&columns=1");
  const { event, data } = await reader.next();
  expect(event).toBe("fleet");
  const fleet = decodeFleet(data as WireFleetColumns);
  expect(fleet.devices.map(({ uuid }) => uuid)).toEqual([first.uuid, second.uuid]);
  expect(fleet.frame.rows[0]?.values).toContain(250);
  latest.write(delivery("fast", Date.now(), [[first, gpu.power, 300]]));
  const update = await reader.next();
  expect(update.event).toBe("changes");
  expect(applyChanges(fleet.frame, update.data as WireChanges)?.rows[0]?.values).toContain(300);
  await reader.cancel();
});

test("a stream leaves out the fleet that the page has from its HTML, unless that is another one or too old", async () => {
  const latest = new LatestFrames();
  latest.write(delivery("fast", Date.now(), [[first, gpu.power, 250]]));
  const hub = await listening({ latest });
  const { fleet, frame } = (await (await fetch(new URL("api/fleet", hub.url))).json()) as WireFleet;
  const firstEvent = async (query: string): Promise<string> => {
    const reader = await openStream(hub, query);
    const { event } = await reader.next();
    await reader.cancel();
    return event;
  };
  expect(await firstEvent(`?fleet=${fleet}&since=${frame.timeMs}`)).toBe("frame");
  expect(await firstEvent(`?fleet=${fleet + 1}&since=${frame.timeMs}`)).toBe("fleet");
  expect(await firstEvent(`?fleet=${fleet}&since=${frame.timeMs - 3_000}`)).toBe("fleet");
  expect(await firstEvent("?fleet=x&since=")).toBe("fleet");
});

test("closing the hub ends open streams", async () => {
  const hub = await listening();
  const reader = await openStream(hub);
  await reader.next();
  await hub.close();
  await expect(reader.end()).resolves.toBe(true);
});

test("one page too many is refused with Retry-After", async () => {
  const hub = await listening({ maxPages: 1 });
  const reader = await openStream(hub);
  const refused = await fetch(`${hub.url}api/live`);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await refused.json()).toHaveProperty("error");
  await reader.cancel();
});

test("HEAD does not open a stream", async () => {
  const { inject } = await app();
  expect(
    (await inject({ method: "HEAD", url: "/api/live", headers: { host: "localhost" } })).statusCode,
  ).toBe(404);
});

test("a taken port is one sentence that names it and --port", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const { port } = other.address() as AddressInfo;
  await expect(createHub(options({ port }))).rejects.toMatchObject({
    code: "PORT_IN_USE",
    message: `Port ${port} on 127.0.0.1 is in use by another program: stop it, or choose another port with --port.`,
  });
  other.close();
});

test("an address this machine does not have is one sentence that names --host", async () => {
  await expect(createHub(options({ host: "192.0.2.1" }))).rejects.toMatchObject({
    code: "PORT_DENIED",
  });
});

/** Reads events from a live stream one by one. */
async function openStream(hub: Hub, query = "") {
  const response = await fetch(`${hub.url}api/live${query}`);
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  if (response.body === null) throw new Error("BUG: the stream has no body");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const next = async (): Promise<{ event: string; data: unknown }> => {
    for (;;) {
      const match = /event: (\w+)\ndata: (.*)\n\n/.exec(text);
      if (match !== null) {
        text = text.slice(match.index + match[0].length);
        return { event: match[1] ?? "", data: JSON.parse(match[2] ?? "") };
      }
      const { value, done } = await reader.read();
      if (done) throw new Error("the stream ended");
      text += value;
    }
  };
  const end = async (): Promise<boolean> => {
    for (;;) if ((await reader.read()).done) return true;
  };
  return { next, end, cancel: () => reader.cancel() };
}

test("a page of another site can read nothing more and change nothing", async () => {
  const { inject } = await app();
  const answer = await inject({
    method: "POST",
    url: "/api/v1/write",
    headers: { host: "localhost:9410", origin: "https://example.org" },
  });
  expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([
    403,
    expect.stringContaining("another site"),
  ]);
});

test.each([
  ["a client that has gone", Object.assign(new Error("aborted"), { code: "ECONNRESET" }), 400, 0],
  ["a request that was called off", new DOMException("gone", "AbortError"), 400, 0],
  ["a fault of ours", new Error("no"), 500, 1],
])(
  "%s is answered %3$i and reported as a fault %4$i times",
  async (_name, thrown, status, faults) => {
    const reported: string[] = [];
    const log = { ...silentLog, error: (message: string) => void reported.push(message) };
    const built = await buildHub(options({ log }));
    hubs.push(built);
    built.get("/breaks", async () => {
      throw thrown;
    });
    const answer = await built.inject({ url: "/breaks", headers: { host: "localhost" } });
    expect([answer.statusCode, reported.length]).toEqual([status, faults]);
  },
);

test("an open port answers health checks and holds other requests until the hub serves", async () => {
  const settings = options();
  let state: ReadyState | undefined;
  const listener = await openListener(
    settings,
    () => {},
    () => state,
  );
  const ready = fetch(`${listener.url}-/ready`);
  const fleet = fetch(`${listener.url}api/fleet`);
  expect(await (await fetch(`${listener.url}-/healthy`)).json()).toEqual({ healthy: true });
  state = { ready: true, problems: ["the disk is nearly full"] };
  const early = await fetch(`${listener.url}-/ready`);
  expect(early.headers.get("x-content-type-options")).toBe("nosniff");
  expect(await early.json()).toEqual(state);
  state = { ready: false, problems: [] };
  expect((await fetch(`${listener.url}-/ready`)).status).toBe(503);
  hubs.push(await createHub(settings, listener));
  expect((await ready).status).toBe(200);
  expect(await (await fleet).json()).toMatchObject({ host: "lab" });
});
