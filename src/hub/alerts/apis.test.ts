import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { requiredScope } from "../auth/required-scope.ts";
import { addAlertApis } from "./apis.ts";
import { type AlertApiFixture, openAlertApiFixture } from "../../../test/fixtures/hub/alerts.ts";

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const plain = `
route: { receiver: all, group_by: [alertname], group_wait: 1h, routes: [{ receiver: info, matchers: [severity="info"] }] }
receivers: [{ name: all }, { name: info }]
inhibit_rules: [{ source_matchers: [alertname="Down"], target_matchers: [alertname!="Down"], equal: [host] }]
`;

async function bench(config = plain): Promise<AlertApiFixture> {
  const opened = await openAlertApiFixture(config);
  stops.push(() => opened.close());
  return opened;
}

const byText = (left: string, right: string): number => (left < right ? -1 : 1);
type Method = "GET" | "POST" | "DELETE";
async function ask({ app }: AlertApiFixture, method: Method, url: string, body?: unknown) {
  const answer = await app.inject({
    method,
    url,
    ...(body === undefined
      ? {}
      : { payload: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  });
  const text = answer.body;
  return {
    status: answer.statusCode,
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
  };
}

test("the summary counts what fires, silenced and inhibited alerts apart", async () => {
  const opened = await bench();
  expect((await ask(opened, "GET", "/api/alert-summary")).body).toEqual({
    active: [],
    silenced: 0,
    inhibited: 0,
  });
  const alert = (alertname: string, host: string) => ({
    labels: { alertname, host, severity: alertname === "Down" ? "critical" : "warning" },
  });
  await ask(opened, "POST", "/api/v2/alerts", [
    alert("Down", "a"),
    alert("Hot", "a"),
    alert("Hot", "b"),
    alert("Hot", "c"),
    alert("Loud", "d"),
    { ...alert("Over", "e"), endsAt: new Date(Date.now() - 1_000).toISOString() },
  ]);
  await ask(opened, "POST", "/api/v2/silences", {
    matchers: [{ name: "alertname", value: "Loud", isRegex: false, isEqual: true }],
    startsAt: new Date(Date.now() - 1_000).toISOString(),
    endsAt: new Date(Date.now() + 3_600_000).toISOString(),
    createdBy: "a test",
    comment: "none",
  });
  expect((await ask(opened, "GET", "/api/alert-summary")).body).toEqual({
    active: [
      { name: "Hot", severity: "warning", count: 2 },
      { name: "Down", severity: "critical", count: 1 },
    ],
    silenced: 1,
    inhibited: 1,
  });
});

test("what is reported is found again with its state, its receivers and what keeps it quiet", async () => {
  const opened = await bench();
  const reported = [
    { labels: { alertname: "Down", host: "a" } },
    {
      labels: { alertname: "Hot", host: "a", severity: "info", empty: "" },
      generatorURL: "http://x",
    },
    { labels: { alertname: "Hot", host: "b" }, annotations: { summary: "s" } },
  ];
  expect(await ask(opened, "POST", "/api/v2/alerts", reported)).toEqual({
    status: 200,
    body: undefined,
  });
  const { body } = await ask(opened, "GET", "/api/v2/alerts?filter=alertname%3DHot");
  const [first, second] = body as { status: { inhibitedBy: string[] } }[];
  expect(first).toMatchObject({
    labels: { host: "a" },
    status: { state: "suppressed", silencedBy: [] },
    receivers: [{ name: "info" }],
    generatorURL: "http://x",
  });
  expect(first?.status.inhibitedBy).toHaveLength(1);
  expect(second).toMatchObject({
    labels: { host: "b" },
    annotations: { summary: "s" },
    status: { state: "active", inhibitedBy: [] },
    receivers: [{ name: "all" }],
  });
  expect(JSON.stringify(body)).not.toContain("empty");
  const groups = await ask(opened, "GET", "/api/v2/alerts/groups");
  expect(groups.body).toMatchObject([
    { labels: { alertname: "Down" }, receiver: { name: "all" } },
    { labels: { alertname: "Hot" }, receiver: { name: "all" } },
    { labels: { alertname: "Hot" }, receiver: { name: "info" } },
  ]);
});

test("what is sound among what is not is taken", async () => {
  const opened = await bench();
  const mixed = [{ labels: { alertname: "Good" } }, { labels: {} }];
  expect(await ask(opened, "POST", "/api/v2/alerts", mixed)).toEqual({
    status: 400,
    body: "at least one label pair required",
  });
  expect((await ask(opened, "GET", "/api/v2/alerts")).body).toHaveLength(1);
});

test("a silence is made, quiets, is changed and ended", async () => {
  const opened = await bench();
  await ask(opened, "POST", "/api/v2/alerts", [{ labels: { alertname: "Hot" } }]);
  const wish = {
    matchers: [{ name: "alertname", value: "Hot", isRegex: false }],
    startsAt: new Date().toISOString(),
    endsAt: new Date(Date.now() + 60_000).toISOString(),
    createdBy: "me",
    comment: "",
  };
  const made = await ask(opened, "POST", "/api/v2/silences", wish);
  const { silenceID: id } = made.body as { silenceID: string };
  expect((await ask(opened, "GET", "/api/v2/alerts")).body).toMatchObject([
    { status: { state: "suppressed", silencedBy: [id] } },
  ]);
  expect((await ask(opened, "GET", "/api/v2/alerts?silenced=false")).body).toEqual([]);
  expect((await ask(opened, "DELETE", `/api/v2/silence/${id}`)).status).toBe(200);
  expect((await ask(opened, "GET", `/api/v2/silence/${id}`)).body).toMatchObject({
    status: { state: "expired" },
  });
});

test("bodies are bounded, and anything but JSON is refused", async () => {
  const opened = await bench();
  const long = "x".repeat(17 * 1024 * 1024);
  const labels = { alertname: "A", long };
  expect((await ask(opened, "POST", "/api/v2/alerts", [{ labels }])).status).toBe(413);
  expect(
    (await ask(opened, "POST", "/api/v2/silences", { comment: long.slice(0, 300_000) })).status,
  ).toBe(413);
  const form = await opened.app.inject({
    method: "POST",
    url: "/api/v2/alerts",
    payload: "a=b",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  expect(form.statusCode).toBe(415);
});

test.each(["/api/v2/alerts", "/api/v2/silences"])(
  "a body at %s that is no JSON though it says so is the sender's mistake, and logged as no fault",
  async (url) => {
    const { app } = await bench();
    const headers = { "content-type": "application/json" };
    const answer = await app.inject({ method: "POST", url, payload: "[{", headers });
    expect([answer.statusCode, answer.json<{ code: number }>().code]).toEqual([400, 400]);
  },
);

test("the configuration is shown without a secret, and without what Alertmanager 0.25 cannot read", async () => {
  const opened = await bench(`
# a comment with hunter2
global: { smtp_smarthost: 'localhost:25', smtp_from: a@b.c, smtp_auth_password: hunter2 }
route: { receiver: all, group_by: ['...'], routes: [{ receiver: all, matchers: [a="b"], continue: true, group_wait: 5m }] }
receivers:
  - name: all
    webhook_configs:
      - { url: 'http://user:hunter2@127.0.0.1:1/hunter2', send_resolved: false, max_alerts: 10 }
      - { url: 'http://127.0.0.1:1/x', hmac_secret: hunter2 }
    ntfy_configs: [{ url: 'http://127.0.0.1:1', topic: gpus }]
    email_configs:
`);
  const { body } = await ask(opened, "GET", "/api/v2/status");
  const { config, uptime, versionInfo, cluster } = body as {
    config: { original: string };
    uptime: string;
    versionInfo: unknown;
    cluster: unknown;
  };
  expect(config.original).not.toContain("hunter2");
  expect(config.original).toContain("max_alerts: 10\n");
  expect(config.original).toContain("continue: true\n");
  expect(config.original).toContain("smtp_auth_password: <secret>\n");
  expect(config.original).toMatch(
    /^# Not shown, .*: webhook_configs\[1\] of the receiver "all" with hmac_secret\n# .*: ntfy_configs\[0\]/,
  );
  expect(config.original).not.toMatch(/^ *ntfy_configs|hmac_secret:|email_configs/m);
  expect({ uptime, versionInfo, cluster }).toMatchObject({
    uptime: "2023-11-14T22:13:20.000Z",
    versionInfo: { version: "0.25.0", revision: "gpulse-1.2.3" },
    cluster: { status: "disabled", peers: [] },
  });
});

test("another file is taken up with silences and alerts kept; one that is wrong changes nothing and says why", async () => {
  const opened = await bench();
  await ask(opened, "POST", "/api/v2/alerts", [{ labels: { alertname: "Hot", severity: "info" } }]);
  opened.write("route: { receiver: nobody }\nreceivers: [{ name: all }]\n");
  await expect(opened.sink.reload()).rejects.toThrow(/the undefined receiver "nobody"/);
  opened.write(
    "route: { receiver: all }\nreceivers: [{ name: all, webhook_configs: [{ url: nowhere }] }]\n",
  );
  await expect(opened.sink.reload()).rejects.toThrow(/webhook_configs/);
  expect((await ask(opened, "GET", "/api/v2/receivers")).body).toEqual([
    { name: "all" },
    { name: "info" },
  ]);
  opened.write("route: { receiver: other }\nreceivers: [{ name: other }]\n");
  await opened.sink.reload();
  expect((await ask(opened, "GET", "/api/v2/alerts/groups")).body).toMatchObject([
    { receiver: { name: "other" }, alerts: [{ labels: { alertname: "Hot" } }] },
  ]);
});

test("a receiver is tested for real, and deliveries are reported with their outcome", async () => {
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? "");
    request.resume();
    response.writeHead(request.url === "/good" ? 200 : 404).end();
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  stops.push(() => void server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const opened = await bench(`
route: { receiver: team, group_wait: 0s }
receivers: [{ name: team, webhook_configs: [{ url: '${base}/good' }, { url: '${base}/bad' }] }]
`);
  const tested = await ask(opened, "POST", "/api/alerts/test", { receiver: "team" });
  expect(tested).toMatchObject({
    status: 200,
    body: { receiver: "team", ways: [{ ok: true }, { ok: false }] },
  });
  expect(paths.sort(byText)).toEqual(["/bad", "/good"]);
  expect((await ask(opened, "POST", "/api/alerts/test", { receiver: "tem" })).body).toEqual({
    error: 'There is no receiver "tem". Did you mean "team"?',
  });
  expect((await ask(opened, "POST", "/api/alerts/test", {})).status).toBe(400);
  await ask(opened, "POST", "/api/v2/alerts", [{ labels: { alertname: "Hot" } }]);
  const outcomes = async (): Promise<string[]> => {
    const { body } = await ask(opened, "GET", "/api/alerts/deliveries");
    return (body as { deliveries: { outcome: string }[] }).deliveries
      .map(({ outcome }) => outcome)
      .sort(byText);
  };
  await expect.poll(outcomes, { timeout: 8_000 }).toEqual(["failed", "sent"]);
  expect((await ask(opened, "GET", "/api/alerts/deliveries?limit=0")).status).toBe(400);
});

test("where Alertmanagers elsewhere route, alerts go to them and the rest is asked there", async () => {
  const put: unknown[] = [];
  const app = fastify();
  stops.push(() => app.close());
  await addAlertApis(
    app,
    {
      put: (alerts) => {
        put.push(...alerts);
        return 0;
      },
      alertmanagers: { active: ["http://am:9093/api/v2/alerts"], dropped: [] },
      problems: () => [],
      selfMetrics: () => {},
      reload: async () => {},
      close: async () => {},
    },
    { log: silentLog, nowMs: () => 0, version: "", startedMs: 0 },
  );
  const send = {
    method: "POST",
    url: "/api/v2/alerts",
    payload: [{ labels: { a: "b" } }],
  } as const;
  expect((await app.inject(send)).statusCode).toBe(200);
  expect(put).toHaveLength(1);
  for (const url of [
    "/api/v2/alerts",
    "/api/v2/silences",
    "/api/v2/status",
    "/api/alerts/deliveries",
  ]) {
    const answer = await app.inject({ method: "GET", url });
    expect(answer.statusCode).toBe(404);
    expect(answer.body).toContain("http://am:9093/api/v2/alerts");
  }
});

test.each([
  ["POST", "/api/v2/alerts", "push"],
  ["GET", "/api/v2/alerts", "read"],
  ["GET", "/api/v2/alerts/groups", "read"],
  ["GET", "/api/v2/status", "read"],
  ["GET", "/api/v2/silences", "read"],
  ["POST", "/api/v2/silences", "admin"],
  ["DELETE", "/api/v2/silence/:id", "admin"],
  ["GET", "/api/alerts/deliveries", "read"],
  ["POST", "/api/alerts/test", "admin"],
])("%s %s needs the scope %s", (method, route, scope) =>
  expect(requiredScope(method, route)).toBe(scope),
);
