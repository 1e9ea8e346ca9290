/** Tests of the data inlined in a page's HTML: its content, who gets it, and when it is left out. */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { delivery, first } from "../../test/fixtures/view/live.ts";
import { openAccess } from "../access/open.ts";
import { Tokens } from "../access/tokens.ts";
import { silentLog } from "../base/log.ts";
import { BatchBuilder } from "../formats/samples/builder.ts";
import { gpu } from "../model/catalogue/index.ts";
import { labelSet } from "../model/labels.ts";
import { BasicUsers } from "../net/http/basic-users.ts";
import { LatestFrames } from "../sinks/latest/latest.ts";
import type { FirstLoad } from "../view/first-load.ts";
import type { WireFleetColumns } from "../view/live/fleet-columns.ts";
import type { ApiContext } from "./api/context.ts";
import { buildHub, type HubOptions } from "./hub.ts";
import { RefusalCounts } from "./auth/self-metrics.ts";
import { openStorage } from "./storage.ts";

const nowMs = 1_700_000_000_000;
let folder = "";
const ends: (() => Promise<void>)[] = [];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-first-load-"));
  mkdirSync(path.join(folder, ".vite"));
  writeFileSync(
    path.join(folder, "index.html"),
    '<html lang="en"><head><script type="module" src="./assets/app.js"></script></head><body></body>',
  );
  writeFileSync(
    path.join(folder, ".vite", "manifest.json"),
    JSON.stringify({
      app: { file: "assets/app.js" },
      chart: { file: "assets/chart.js", css: ["assets/chart.css"] },
      "src/pages/gpu/page.tsx": { file: "assets/gpu.js", imports: ["app", "chart"] },
      "src/pages/fleet/page.tsx": { file: "assets/fleet.js", imports: ["app"] },
    }),
  );
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  rmSync(folder, { recursive: true });
});

async function hub(changes: Partial<HubOptions> = {}, host = "lab") {
  const { app } = await start(() => changes, host);
  return (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });
}

async function start(changes: (api: ApiContext) => Partial<HubOptions>, host = "lab") {
  const latest = new LatestFrames();
  latest.write(delivery("fast", nowMs, [[first, gpu.power, 250]]));
  const storage = await openStorage({
    dir: path.join(folder, "data"),
    retentionMs: 86_400_000,
    log: silentLog,
    nowMs: () => nowMs,
    version: "1.2.3",
  });
  const batch = new BatchBuilder();
  const series = (name: string, more: Record<string, string> = {}): number =>
    batch.series(labelSet({ __name__: name, uuid: first.uuid, host: "lab", ...more }));
  const power = series("gpu_power_watts");
  const other = series("gpu_power_watts", { uuid: "other" });
  const odd = series("gpu_odd", { text: "</script>" });
  for (let back = 9; back >= 0; back -= 1) {
    const timeMs = nowMs - back * 1_000;
    batch.add(power, timeMs, 250 + back);
    batch.add(other, timeMs, 1);
    batch.add(odd, timeMs, Infinity);
  }
  await storage.api.writer.write(batch.finish());
  const app = await buildHub({
    latest,
    host: "0.0.0.0",
    port: 0,
    hostName: host,
    webDir: folder,
    log: silentLog,
    nowMs: () => nowMs,
    version: "1.2.3",
    metricsPage: () => ({ body: "", contentType: "text/plain" }),
    stats: () => ({}),
    ready: () => ({ ready: true, problems: [] }),
    api: storage.api,
    ...changes(storage.api),
  });
  ends.push(
    () => app.close(),
    () => storage.close(),
  );
  return { app };
}

function dataIn(html: string): FirstLoad | undefined {
  const [, json] =
    /<script type="application\/json" id="first-load">(.*?)<\/script>/s.exec(html) ?? [];
  return json === undefined ? undefined : (JSON.parse(json) as FirstLoad);
}

test.each(["/", "/fleet", "/alerts", "/index.html"])(
  "%s holds the fleet as /api/fleet?columns=1 has it",
  async (url) => {
    const get = await hub();
    const answer = await get(url);
    expect(dataIn(answer.body)).toEqual({
      fleet: (await get("/api/fleet?columns=1")).json<WireFleetColumns>(),
    });
    expect(answer.headers["cache-control"]).toBe("no-store");
  },
);

test("the head with the scripts to load is sent before the data is there", async () => {
  let found: () => void = () => {};
  const waiting = new Promise<void>((resolve) => (found = resolve));
  const { app } = await start(({ history }) => {
    const range = async () => waiting.then(() => ({ data: { type: "matrix", series: [] } }));
    Object.assign(history, { range });
    return {};
  });
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  const answer = await fetch(`${address}/gpu?uuid=${first.uuid}@lab`);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  const head = (await reader?.read())?.value ?? "";
  expect(head).toContain('rel="modulepreload" crossorigin href="./assets/gpu.js"');
  expect(head).not.toContain("first-load");
  found();
  let rest = "";
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
    rest += part.value;
  expect(dataIn(rest)?.gpu).toMatchObject({ series: [] });
  expect(rest.endsWith("</body>")).toBe(true);
});

test("the GPU page also holds that GPU's series over the range of the address", async () => {
  const get = await hub();
  const { gpu: window } = dataIn((await get(`/gpu?uuid=${first.uuid}@lab&range=10s`)).body) ?? {};
  expect(window).toMatchObject({
    matchers: `uuid="${first.uuid}",host=~"lab|"`,
    rangeMs: 10_000,
    nowMs,
    startMs: nowMs - 10_000,
    endMs: nowMs,
    stepMs: 1_000,
  });
  expect(window?.series).toEqual([
    {
      labels: { __name__: "gpu_odd", host: "lab", text: "</script>", uuid: first.uuid },
      values: [null, ...Array.from({ length: 10 }, () => "+Inf")],
    },
    {
      labels: { __name__: "gpu_power_watts", host: "lab", uuid: first.uuid },
      values: [null, 259, 258, 257, 256, 255, 254, 253, 252, 251, 250],
    },
  ]);
});

test.each([
  ["/gpu?range=10s", true],
  ["/gpu", true],
  ["/gpu?uuid=GPU-aaaa", true],
  ["/gpu?uuid=unknown", false],
  ["/gpu?range=7d", false],
  ["/gpu?from=2023-11-14T00:00:00Z&to=2023-11-14T01:00:00Z", false],
])("%s holds a GPU's series: %s", async (url, isThere) => {
  const get = await hub();
  expect(dataIn((await get(url)).body)?.gpu !== undefined).toBe(isThere);
});

test("text from a device cannot end the element", async () => {
  const get = await hub({}, "</script><script>alert(1)</script>");
  const { body } = await get("/gpu");
  expect(body).not.toContain("<script>alert");
  expect(body.match(/<\/script>/g)).toHaveLength(2);
  expect(dataIn(body)?.fleet.host).toBe("</script><script>alert(1)</script>");
});

test("no script may stand in the HTML", async () => {
  const answer = await (await hub())("/");
  expect(answer.body).not.toContain("<script>");
  expect(answer.headers["content-security-policy"]).toContain("script-src 'self';");
  expect(answer.headers["content-security-policy"]).not.toContain("unsafe");
});

test.each([
  ["gpulse_look=dark.compact", '<html data-theme="dark" data-density="compact" lang="en">'],
  ["a=b; gpulse_look=auto.comfortable", '<html data-density="comfortable" lang="en">'],
  ['gpulse_look=dark."><script>', '<html lang="en">'],
  [undefined, '<html lang="en">'],
])("the theme and density of the cookie %s stand in the HTML", async (cookie, tag) => {
  const { body } = await (await hub())("/", cookie === undefined ? {} : { cookie });
  expect(body).toContain(tag);
});

test("the files of the page that is opened are preloaded, and no other's", async () => {
  const get = await hub();
  const page = (await get("/gpu")).body;
  expect(page).toContain('<link rel="modulepreload" crossorigin href="./assets/gpu.js">');
  expect(page).toContain('<link rel="modulepreload" crossorigin href="./assets/chart.js">');
  expect(page).toContain('<link rel="stylesheet" crossorigin href="./assets/chart.css">');
  expect(page).not.toContain("fleet.js");
  expect((await get("/")).body).not.toContain("chart.js");
});

test("a client over its query rate gets the page without the series", async () => {
  const get = await hub({ rates: { queriesPerSecond: 0.1 } });
  expect(dataIn((await get("/gpu")).body)?.gpu).toBeDefined();
  const second = await get("/gpu");
  expect([second.statusCode, dataIn(second.body)?.gpu]).toEqual([200, undefined]);
});

test("who may not read gets no data", async () => {
  const tokens = new Tokens({ dataDir: folder, log: silentLog });
  ends.push(async () => tokens.close());
  const made = (scope: "read" | "push") =>
    tokens.add({ name: scope, scope }, nowMs, randomBytes).text.reveal();
  const get = await hub({
    access: {
      ...openAccess({ dataDir: folder, log: silentLog, random: randomBytes }),
      tokens,
      users: () => new BasicUsers(new Map()),
      openReads: false,
      openWithoutTokens: false,
      secure: true,
      random: randomBytes,
      refused: new RefusalCounts(),
    },
  });
  const [reader, pusher] = [made("read"), made("push")];
  for (const url of ["/", "/gpu"]) {
    const status = async (headers: Record<string, string>) => {
      const { statusCode, body } = await get(url, { accept: "text/html", ...headers });
      return [statusCode, body.includes("first-load"), body.includes(first.uuid)];
    };
    expect(await status({})).toEqual([401, false, false]);
    expect(await status({ authorization: `Bearer ${pusher}` })).toEqual([403, false, false]);
    expect(await status({ authorization: `Bearer ${reader}` })).toEqual([200, true, true]);
  }
});
