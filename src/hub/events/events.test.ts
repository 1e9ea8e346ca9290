/** Tests of the timeline's routes over HTTP, and of the actions that an incoming alert triggers. */
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openAccess } from "../../access/open.ts";
import { Tokens } from "../../access/tokens.ts";
import { type AlertActionSettings, onAlertSettings } from "../../cli/command/on-alert.ts";
import { BasicUsers } from "../../net/http/basic-users.ts";
import { silentLog } from "../../base/log.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { RefusalCounts } from "../auth/self-metrics.ts";
import { buildHub } from "../hub.ts";
import { Timeline } from "./timeline.ts";

let dataDir = "";
const ends: (() => void | Promise<void>)[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-hub-events-"));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(dataDir, { recursive: true, force: true });
});

async function hub(onAlert: readonly AlertActionSettings[] = []) {
  const timeline = new Timeline({
    dataDir,
    retentionMs: 100 * 365 * 86_400_000,
    hostName: "lab",
    onAlert,
    env: { PATH: process.env["PATH"], EMAIL_PASS: "hunter2" },
    nowMs: Date.now,
    trustedNowMs: Date.now,
    log: silentLog,
  });
  const tokens = new Tokens({ dataDir, log: silentLog });
  const app = await buildHub({
    latest: new LatestFrames(),
    host: "127.0.0.1",
    port: 0,
    hostName: "lab",
    webDir: dataDir,
    log: silentLog,
    nowMs: Date.now,
    version: "1.2.3",
    metricsPage: () => ({ body: "", contentType: "text/plain" }),
    stats: () => ({}),
    ready: () => ({ ready: true, problems: [] }),
    timeline,
    access: {
      ...openAccess({ dataDir: dataDir, log: silentLog, random: randomBytes }),
      tokens,
      users: () => new BasicUsers(new Map()),
      openReads: true,
      openWithoutTokens: true,
      secure: false,
      random: randomBytes,
      refused: new RefusalCounts(),
    },
  });
  const close = async (): Promise<void> => {
    await app.close();
    await timeline.close();
    tokens.close();
  };
  ends.push(close);
  const token = (): Record<string, string> => {
    const made = tokens.add({ name: `t${Math.random()}`, scope: "push" }, Date.now(), randomBytes);
    return { authorization: `Bearer ${made.text.reveal()}` };
  };
  return {
    token,
    close: async () => {
      ends.splice(ends.indexOf(close), 1);
      await close();
    },
    timeline,
    get: async (url: string, headers: Record<string, string> = {}) =>
      app.inject({ url, headers: { host: "localhost", ...headers } }),
    post: async (url: string, payload: object, headers: Record<string, string> = {}) =>
      app.inject({ method: "POST", url, payload, headers: { host: "localhost", ...headers } }),
  };
}

const events = async (one: Awaited<ReturnType<typeof hub>>, query = ""): Promise<unknown[]> => {
  const { data } = (await one.get(`/api/events${query}`)).json<{ data: { events: unknown[] } }>();
  return data.events;
};

test("what is posted is listed, by time, kind and labels", async () => {
  const one = await hub();
  const posted = await one.post("/api/events", {
    time: "2026-01-01T00:00:00Z",
    kind: "deployment",
    title: "driver 590 on node-1",
    labels: { host: "node-1" },
  });
  expect(posted.statusCode).toBe(201);
  await one.post("/api/events", { title: "lunch" });
  expect(await events(one, '?kind=deployment&match[]={host="node-1"}')).toEqual([
    {
      id: "1",
      time: "2026-01-01T00:00:00.000Z",
      kind: "deployment",
      severity: "info",
      title: "driver 590 on node-1",
      labels: { host: "node-1" },
    },
  ]);
  expect((await events(one, "?start=2026-06-01T00:00:00Z")).length).toBe(1);
  expect((await events(one, "?end=1")).length).toBe(0);
});

test.each([
  [{}, '"title" is missing'],
  [{ title: "" }, '"title"'],
  [{ title: "x", time: "yesterday" }, '"time"'],
  [{ title: "x", kind: "deploy" }, '"kind"'],
  [{ title: "x", labels: { a: 1 } }, "labels"],
  [{ title: "x", time: "1901-01-01T00:00:00Z" }, "not stored"],
  [{ title: "x", titel: "y" }, 'unknown key "titel"'],
  [{ title: "x", time: 10, end: 5 }, '"end" must not be before'],
])("a bad event %j is refused with what is wrong", async (body, says) => {
  const one = await hub();
  const answer = await one.post("/api/events", body);
  expect([answer.statusCode, answer.body]).toEqual([
    400,
    expect.stringContaining(says.replaceAll('"', '\\"')),
  ]);
});

test.each(["?kind=nothing", "?match[]={", "?limit=x", "?start=x"])(
  "GET /api/events%s is refused",
  async (query) => expect((await (await hub()).get(`/api/events${query}`)).statusCode).toBe(400),
);

const webhook = (status = "firing", changes: object = {}) => ({
  version: "4",
  groupKey: "{}:{}",
  status,
  receiver: "scheduler",
  groupLabels: {},
  commonLabels: {},
  commonAnnotations: {},
  externalURL: "http://alertmanager",
  alerts: [
    {
      status,
      labels: { alertname: "GpuIdle", uuid: "GPU-1", severity: "info", "odd-name": "x" },
      annotations: { summary: "GPU 0 is idle", memory_free_bytes: "1000" },
      startsAt: "2026-01-01T00:00:00Z",
      endsAt: status === "resolved" ? "2026-01-01T00:05:00Z" : "0001-01-01T00:00:00Z",
      generatorURL: "",
      fingerprint: "abc",
      ...changes,
    },
  ],
});

test("an Alertmanager's webhook becomes events, the same one once", async () => {
  const one = await hub();
  expect((await one.post("/alert", webhook())).json()).toEqual({
    received: 1,
    recorded: 1,
    started: 0,
  });
  expect((await one.post("/alert", webhook())).json()).toMatchObject({ recorded: 0 });
  expect((await one.post("/alert", webhook("resolved"))).json()).toMatchObject({ recorded: 1 });
  expect(await events(one, "?kind=alert")).toMatchObject([
    { state: "firing", severity: "info", title: "GPU 0 is idle", time: "2026-01-01T00:00:00.000Z" },
    { state: "resolved", time: "2026-01-01T00:05:00.000Z" },
  ]);
});

test.each([
  [{}, "is missing"],
  [{ version: "3", alerts: [] }, "version 4"],
  [{ ...webhook(), alerts: "none" }, "alerts"],
  [webhook("firing", { startsAt: "noon" }), "startsAt"],
  [webhook("firing", { labels: { alertname: 5 } }), "labels"],
])("a body that is no webhook is refused: %#", async (body, says) => {
  const answer = await (await hub()).post("/alert", body);
  expect([answer.statusCode, answer.body]).toEqual([400, expect.stringContaining(says)]);
});

const onAlert = (entry: object): readonly AlertActionSettings[] =>
  onAlertSettings({ on_alert: [{ match: ['alertname="GpuIdle"'], ...entry }] });
/** A program that writes its input to a file; node, so that it runs anywhere. */
const writes = (file: string, more = ""): string[] => [
  process.execPath,
  "-e",
  `let text = ""; process.stdin.on("data", (part) => text += part).on("end", () => {
     require("fs").appendFileSync(${JSON.stringify(file)}, JSON.stringify({ env: process.env, alert: JSON.parse(text) }) + "\\n");
     ${more}
   });`,
];

test("a command is started once for each alert, knows what it is about, and none of the hub's secrets", async () => {
  const file = path.join(dataDir, "received");
  const first = await hub(onAlert({ command: writes(file) }));
  const headers = first.token();
  expect((await first.post("/alert", webhook(), headers)).json()).toMatchObject({ started: 1 });
  expect((await first.post("/alert", webhook(), headers)).json()).toMatchObject({ started: 0 });
  await vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: 10_000 });
  await first.close();
  const again = await hub(onAlert({ command: writes(file) }));
  expect((await again.post("/alert", webhook(), again.token())).json()).toMatchObject({
    started: 0,
  });
  const lines = readFileSync(file, "utf8").trim().split("\n");
  expect(lines.length).toBe(1);
  const { env, alert } = JSON.parse(lines[0] ?? "") as {
    env: Record<string, string>;
    alert: object;
  };
  expect(env).toMatchObject({
    GPULSE_ALERT_NAME: "GpuIdle",
    GPULSE_ALERT_STATUS: "firing",
    GPULSE_ALERT_LABEL_UUID: "GPU-1",
    GPULSE_ALERT_LABEL_ODD_NAME: "x",
    GPULSE_ALERT_ANNOTATION_MEMORY_FREE_BYTES: "1000",
    GPULSE_ALERT_STARTS_AT: "2026-01-01T00:00:00.000Z",
  });
  expect(env["EMAIL_PASS"]).toBeUndefined();
  expect(alert).toMatchObject({ status: "firing", fingerprint: "abc" });
});

test("without a token nothing is started, also on loopback", async () => {
  const one = await hub(onAlert({ command: writes(path.join(dataDir, "received")) }));
  const answer = await one.post("/alert", webhook());
  expect([answer.statusCode, answer.body]).toEqual([401, expect.stringContaining("scope push")]);
  expect(await events(one)).toEqual([]);
});

test("what does not match, or is over, sets nothing off", async () => {
  const one = await hub(onAlert({ command: writes(path.join(dataDir, "received")) }));
  const other = webhook("firing", { labels: { alertname: "GpuHot" } });
  const headers = one.token();
  expect((await one.post("/alert", other, headers)).json()).toMatchObject({ started: 0 });
  expect((await one.post("/alert", webhook("resolved"), headers)).json()).toMatchObject({
    started: 0,
  });
});

test("a command that takes too long is ended with all it started, and the timeline says so", async () => {
  const pidFile = path.join(dataDir, "pid");
  const script = `sleep 60 & echo $! > ${pidFile}; wait`;
  const settings = onAlert({ command: ["sh", "-c", script] });
  const one = await hub(settings.map((entry) => ({ ...entry, timeoutMs: 300 })));
  await one.post("/alert", webhook(), one.token());
  await vi.waitFor(
    async () =>
      expect(await events(one)).toMatchObject([
        {},
        { state: "started" },
        { state: "failed", title: "GpuIdle: sh: ended after 0.3 s" },
      ]),
    { timeout: 10_000 },
  );
  const pid = Number(readFileSync(pidFile, "utf8"));
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 5_000 });
});

test("no more run at once than may, and the rest wait", async () => {
  const file = path.join(dataDir, "received");
  const one = await hub(
    onAlert({ command: writes(file, "setTimeout(() => {}, 200)"), concurrency: 1 }),
  );
  const headers = one.token();
  for (const fingerprint of ["a", "b", "c"])
    await one.post("/alert", webhook("firing", { fingerprint }), headers);
  const started = async () =>
    (await events(one)).filter((event) => (event as { state?: string }).state === "started").length;
  expect(await started()).toBe(1);
  await vi.waitFor(async () => expect(await started()).toBe(3), { timeout: 10_000 });
  await vi.waitFor(() => expect(readFileSync(file, "utf8").trim().split("\n").length).toBe(3), {
    timeout: 10_000,
  });
});

test("a program that is not there is reported, not thrown", async () => {
  const one = await hub(onAlert({ command: ["/no/such/program"] }));
  await one.post("/alert", webhook(), one.token());
  await vi.waitFor(async () =>
    expect(await events(one)).toMatchObject([
      {},
      {},
      { state: "failed", title: expect.stringContaining("ENOENT") as unknown },
    ]),
  );
});

test("an alert is handed on once, with its token and an idempotency key", async () => {
  const got: { headers: Record<string, unknown>; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      got.push({ headers: request.headers, body });
      response.statusCode = got.length === 1 ? 500 : 200;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/take`;
  const one = await hub(onAlert({ forward: url, forward_token: "open sesame" }));
  const headers = one.token();
  await one.post("/alert", webhook(), headers);
  await one.post("/alert", webhook(), headers);
  await vi.waitFor(async () => expect(await events(one)).toMatchObject([{}, { state: "done" }]), {
    timeout: 10_000,
  });
  expect(got.length).toBe(2);
  expect(got[0]?.headers).toMatchObject({ authorization: "Bearer open sesame" });
  expect(got[0]?.headers["idempotency-key"]).toBe(got[1]?.headers["idempotency-key"]);
  expect(JSON.parse(got[1]?.body ?? "")).toMatchObject({
    version: "4",
    alerts: [{ labels: { uuid: "GPU-1" } }],
  });
});

test("a matcher that is none stops the start with its place", () =>
  expect(
    () =>
      new Timeline({
        dataDir,
        retentionMs: 1,
        hostName: "lab",
        onAlert: onAlert({ match: ["=="], command: ["x"] }),
        env: {},
        nowMs: Date.now,
        trustedNowMs: Date.now,
        log: silentLog,
      }),
  ).toThrow("hub.on_alert.0.match"));

test("a clock that is 40 days ahead has no event and no action forgotten", async () => {
  const clock = { aheadMs: 0 };
  const open = () =>
    new Timeline({
      dataDir,
      retentionMs: 30 * 86_400_000,
      hostName: "lab",
      onAlert: onAlert({ match: [], command: ["true"] }),
      env: {},
      nowMs: () => Date.now() + clock.aheadMs,
      trustedNowMs: Date.now,
      log: silentLog,
    });
  const annotation = { kind: "annotation", severity: "info", labels: {} } as const;
  const alert = {
    status: "firing",
    fingerprint: "1",
    labels: { alertname: "GpuHot" },
    annotations: {},
    startsAtMs: 1,
    endsAtMs: undefined,
    receiver: "hub",
    generatorUrl: "",
  } as const;
  const first = open();
  first.store.add({ ...annotation, title: "before", timeMs: Date.now() });
  expect(first.actions.take(alert)).toBe(1);
  clock.aheadMs = 40 * 86_400_000;
  first.store.add({ ...annotation, title: "meanwhile", timeMs: Date.now() + clock.aheadMs });
  expect(first.actions.take(alert)).toBe(0);
  await first.close();
  const second = open();
  expect(second.actions.take(alert)).toBe(0);
  clock.aheadMs = 0;
  const found = second.store.list({ fromMs: 0, toMs: Infinity, limit: 10 }).events;
  expect(found.map(({ title }) => title)).toEqual(expect.arrayContaining(["before", "meanwhile"]));
  await second.close();
});

test("the runbook is served, section by section", async () => {
  const one = await hub();
  expect((await one.get("/runbook/gpuhot")).body).toMatch(/^### GpuHot\n/);
  expect((await one.get("/runbook/GpuLost")).body).toContain("**Fix.**");
  expect((await one.get("/runbook/nothing")).statusCode).toBe(404);
  expect((await one.get("/runbook")).body).toContain("/runbook/gpuidle\n");
  const { chapters } = (await one.get("/api/runbook")).json<{
    chapters: { title: string; sections: { alert: string; text: string }[] }[];
  }>();
  expect(chapters.map(({ title }) => title)).toEqual(
    expect.arrayContaining(["Heat", "Application"]),
  );
  expect(chapters[0]?.sections[0]?.text).toMatch(/^### GpuHot\n/);
  const headers = { accept: "text/html,*/*" };
  for (const [url, to] of [
    ["/runbook/GpuHot", "../runbooks?alert=gpuhot"],
    ["/runbook/gatewayslow", "../runbooks?alert=gatewayslow"],
    ["/runbook", "runbooks"],
  ] as const) {
    const answer = await one.get(url, headers);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, to]);
  }
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
