/** Behaviour of the services behind channels besides accepting: expiring tokens, errors with status 200, existing issues. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeAuthority } from "../../../engines/certificates.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import {
  alertOf,
  type FakeService,
  notificationOf,
  openEntries,
  sendBy,
  startFakeService,
  startMs,
  twoAlerts,
} from "../../../test/fixtures/alerting/channels.ts";

let service: FakeService;
beforeEach(async () => {
  service = await startFakeService();
});
afterEach(() => service.close());

const resolved = notificationOf(
  twoAlerts.alerts.map((alert) => ({
    ...alert,
    status: "resolved" as const,
    endsAtMs: startMs + 600_000,
  })),
);
const asked = (): string[] =>
  service.requests.splice(0).map(({ method, path: target }) => `${method} ${target}`);

const entries = {
  opsgenie: "opsgenie_configs: [{ api_url: @URL, api_key: k3y1 }]",
  victorops: "victorops_configs: [{ api_url: @URL, api_key: k3y1, routing_key: r }]",
  sns: "sns_configs: [{ api_url: @URL, topic_arn: t, sigv4: { region: r, access_key: a, secret_key: s3cr } }]",
  jira: "jira_configs: [{ api_url: '@URL/rest/api/2', project: P, issue_type: Bug }]",
  wechat: "wechat_configs: [{ api_url: @URL, api_secret: s3cr, corp_id: c }]",
  webex:
    "webex_configs: [{ api_url: @URL, room_id: r, http_config: { authorization: { credentials: t0k3 } } }]",
  rocketchat: "rocketchat_configs: [{ api_url: @URL, token: t0k3, token_id: i }]",
  incidentio: "incidentio_configs: [{ url: @URL, alert_source_token: t0k3 }]",
  mattermost: "mattermost_configs: [{ webhook_url: @URL }]",
} as const;
const open = (name: keyof typeof entries) =>
  openEntries(entries[name].replaceAll("@URL", service.url));

const names = Object.keys(entries) as (keyof typeof entries)[];
test.each(
  names.flatMap((name) => [
    [name, 500, true] as const,
    [name, 503, true] as const,
    [name, 429, true] as const,
    [name, 400, name === "wechat"] as const,
    [name, 403, name === "wechat"] as const,
  ]),
)("%s answers %i: retried %s", async (name, status, retryable) => {
  service.answer = () => ({ status, body: "no" });
  const receivers = await open(name);
  expect((await sendBy(receivers))?.retryable).toBe(retryable);
  receivers.close();
});

test.each([
  ["wechat", '{"errcode":40001,"errmsg":"invalid credential"}', false, "invalid credential"],
  ["wechat", '{"errcode":45009,"errmsg":"api freq out of limit"}', true, "out of limit"],
  ["wechat", '{"errcode":0}', false, "no access token"],
  ["wechat", "<html>", true, "not JSON"],
  ["rocketchat", '{"success":false,"error":"error-not-allowed"}', false, "error-not-allowed"],
  ["rocketchat", "ok", true, "not JSON"],
  ["jira", "<html>", false, "not JSON"],
] as const)("%s's 200 with %s is no success", async (name, body, retryable, says) => {
  service.answer = () => ({ status: 200, body });
  const receivers = await open(name);
  const error = await sendBy(receivers);
  expect([error?.retryable, error?.message]).toEqual([retryable, expect.stringContaining(says)]);
  receivers.close();
});

test("SNS's throttling is retried although it is a 400", async () => {
  service.answer = () => ({
    status: 400,
    body: "<ErrorResponse><Error><Code>ThrottlingException</Code></Error></ErrorResponse>",
  });
  const receivers = await open("sns");
  expect((await sendBy(receivers))?.retryable).toBe(true);
  receivers.close();
});

test("WeChat's token is used until shortly before it expires, and fetched again when it is refused", async () => {
  const clock = new FakeClock(startMs);
  let refuses = false;
  service.answer = ({ path: target }) => ({
    status: 200,
    body: target.startsWith("/gettoken")
      ? '{"errcode":0,"access_token":"abcdef","expires_in":600}'
      : refuses
        ? '{"errcode":42001,"errmsg":"access_token expired"}'
        : '{"errcode":0}',
  });
  const receivers = await openEntries(entries.wechat.replaceAll("@URL", service.url), { clock });
  const get = "GET /gettoken?corpid=c&corpsecret=s3cr";
  const post = "POST /message/send?access_token=abcdef";
  await sendBy(receivers);
  await sendBy(receivers);
  expect(asked()).toEqual([get, post, post]);
  await clock.advance(541_000);
  await sendBy(receivers);
  expect(asked()).toEqual([get, post]);
  refuses = true;
  expect((await sendBy(receivers))?.retryable).toBe(true);
  refuses = false;
  await sendBy(receivers);
  expect(asked()).toEqual([post, get, post]);
  receivers.close();
});

const issue = (category: string): string =>
  JSON.stringify({
    issues: [{ key: "P-1", fields: { status: { statusCategory: { key: category } } } }],
    transitions: [
      { id: "31", name: "Done" },
      { id: "11", name: "Reopen" },
    ],
  });
const search = "POST /rest/api/2/search";
const update = "PUT /rest/api/2/issue/P-1";
const transitions = ["GET", "POST"].map((method) => `${method} /rest/api/2/issue/P-1/transitions`);
const moves = "resolve_transition: Done, reopen_transition: Reopen, reopen_duration: 1h";
test.each([
  ["firing", '{"issues":[]}', "", [search, "POST /rest/api/2/issue"]],
  ["resolved", '{"issues":[]}', "", [search]],
  ["firing", issue("new"), moves, [search, update]],
  ["firing", issue("done"), moves, [search, update, ...transitions]],
  ["resolved", issue("new"), moves, [search, update, ...transitions]],
  ["resolved", issue("new"), "", [search, update]],
] as const)("Jira: alerts that are %s with %s and %j", async (status, body, more, wanted) => {
  service.answer = () => ({ status: 200, body });
  const receivers = await openEntries(
    `jira_configs: [{ api_url: '${service.url}/rest/api/2', project: P, issue_type: Bug, ${more} }]`,
  );
  expect(await sendBy(receivers, status === "firing" ? twoAlerts : resolved)).toBeUndefined();
  expect(asked()).toEqual(wanted);
  receivers.close();
});

const bodyAt = (at: number): { fields: Record<string, unknown>; jql: string } =>
  JSON.parse(service.requests[at]?.text ?? "") as never;

test("Jira's search looks back as long as an issue is reopened, past those that will not be fixed", async () => {
  service.answer = () => ({ status: 200, body: issue("done") });
  const receivers = await openEntries(
    `jira_configs: [{ api_url: '${service.url}/rest/api/2', project: 'P"1', issue_type: Bug, ${moves}, wont_fix_resolution: "Won't", summary: { template: s, enable_update: false }, fields: { customfield_1: { id: '3', value: 3, on: true } } }]`,
  );
  expect(await sendBy(receivers)).toBeUndefined();
  expect(bodyAt(0).jql).toMatch(
    /^resolution != "Won't" and \(resolutiondate is EMPTY OR resolutiondate >= -60m\) and project="P\\"1" and labels="ALERT\{\w{64}\}" order by status ASC,resolutiondate DESC$/,
  );
  expect(bodyAt(1).fields).not.toHaveProperty("summary");
  expect(bodyAt(1).fields["customfield_1"]).toEqual({ id: "3", value: 3, on: true });
  receivers.close();
});

test.each([
  ["/rest/api/2", "cloud", "POST /rest/api/3/search/jql"],
  ["/rest/api/3", "cloud", "POST /rest/api/3/search/jql"],
  ["/rest/api/2", "auto", "POST /rest/api/2/search"],
  ["/rest/api/3/", "datacenter", "POST /rest/api/3/search"],
])("Jira at %s of type %s is searched by %s", async (api, type, wanted) => {
  service.answer = () => ({ status: 200, body: '{"issues":[]}' });
  const receivers = await openEntries(
    `jira_configs: [{ api_url: '${service.url}${api}', api_type: ${type}, project: P, issue_type: Bug }]`,
  );
  await sendBy(receivers);
  // Version 3 takes a document where version 2 takes text.
  expect(typeof bodyAt(1).fields["description"]).toBe(api.includes("3") ? "object" : "string");
  expect(asked()[0]).toBe(wanted);
  receivers.close();
});

test("Jira that offers no such transition says so, and it is not retried", async () => {
  service.answer = () => ({ status: 200, body: issue("new") });
  const receivers = await openEntries(
    `jira_configs: [{ api_url: '${service.url}', project: P, issue_type: Bug, resolve_transition: Closed }]`,
  );
  const error = await sendBy(receivers, resolved);
  expect([error?.message, error?.retryable]).toEqual([
    'Jira offers no transition "Closed" for the issue P-1',
    false,
  ]);
  receivers.close();
});

test("texts are cut to what each service takes", async () => {
  const long = "ä".repeat(40_000);
  const notification = notificationOf([alertOf({ alertname: "Long" })]);
  const sent = async (entry: string): Promise<string> => {
    service.answer = () => ({
      status: 200,
      body: '{"success":true,"errcode":0,"access_token":"abcd","issues":[]}',
    });
    const receivers = await openEntries(entry.replaceAll("@URL", service.url));
    expect(await sendBy(receivers, notification)).toBeUndefined();
    receivers.close();
    return service.requests.splice(0).at(-1)?.text ?? "";
  };
  const of = async (entry: string): Promise<Record<string, string>> =>
    JSON.parse(await sent(entry)) as Record<string, string>;
  const opsgenie = await of(
    `opsgenie_configs: [{ api_url: @URL, api_key: k3y1, message: ${long} }]`,
  );
  const victorops = await of(
    `victorops_configs: [{ api_url: @URL, api_key: k3y1, routing_key: r, state_message: ${long} }]`,
  );
  const webex = await of(
    `webex_configs: [{ api_url: @URL, room_id: r, message: ${long}, http_config: { authorization: { credentials: t0k3 } } }]`,
  );
  const mattermost = await of(`mattermost_configs: [{ webhook_url: @URL, text: ${long} }]`);
  const keys = "sigv4: { region: r, access_key: a, secret_key: s3cr }";
  const sms = new URLSearchParams(
    await sent(`sns_configs: [{ api_url: @URL, phone_number: '+49', message: ${long}, ${keys} }]`),
  );
  expect([
    opsgenie["message"]?.length,
    victorops["state_message"]?.length,
    mattermost["text"]?.length,
  ]).toEqual([130, 20_480, 16_383]);
  expect(Buffer.byteLength(webex["markdown"] ?? "")).toBeLessThanOrEqual(7_439);
  expect(webex["markdown"]).toMatch(/ä…$/);
  expect(Buffer.byteLength(sms.get("Message") ?? "")).toBeLessThanOrEqual(1_600);
  expect(sms.get("MessageAttributes.entry.1.Name")).toBe("truncated");
});

test("incident.io gets the first alert alone where all of them would be refused for their size", async () => {
  const alerts = Array.from({ length: 300 }, (_, gpu) =>
    alertOf({ alertname: "Hot", gpu: String(gpu) }, { summary: "s".repeat(2_000) }),
  );
  const receivers = await open("incidentio");
  expect(await sendBy(receivers, notificationOf(alerts))).toBeUndefined();
  const body = JSON.parse(service.requests[0]?.text ?? "") as Record<string, unknown>;
  expect([body["version"], (body["alerts"] as unknown[]).length, body["truncatedAlerts"]]).toEqual([
    "1",
    1,
    299,
  ]);
  receivers.close();
});

test("SNS signs with a role's credentials, which are fetched once and again when they expire", async () => {
  const clock = new FakeClock(startMs);
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-sns-"));
  const file = path.join(dir, "credentials");
  writeFileSync(
    file,
    "[other]\naws_access_key_id = NO\n[ops]\naws_access_key_id = OPSKEY\naws_secret_access_key = s3cr3t\n",
  );
  service.answer = ({ path: target }) => ({
    status: 200,
    body: target.startsWith("/sts")
      ? `<AssumeRoleResponse><AccessKeyId>ROLEKEY</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>t0k3n</SessionToken><Expiration>${new Date(clock.nowMs() + 900_000).toISOString()}</Expiration></AssumeRoleResponse>`
      : "",
  });
  const receivers = await openEntries(
    `sns_configs: [{ api_url: '${service.url}', topic_arn: t, sigv4: { region: eu-west-1, profile: ops, role_arn: 'arn:aws:iam::1:role/r' } }]`,
    {
      clock,
      env: { AWS_SHARED_CREDENTIALS_FILE: file, AWS_ENDPOINT_URL_STS: `${service.url}/sts` },
    },
  );
  for (const waitMs of [0, 0, 850_000]) {
    await clock.advance(waitMs);
    expect(await sendBy(receivers)).toBeUndefined();
  }
  const keys = service.requests.map(({ path: target, headers }) => [
    target,
    /Credential=(\w+)\//.exec(headers.authorization ?? "")?.[1],
    headers["x-amz-security-token"],
  ]);
  const sts = ["/sts", "OPSKEY", undefined];
  const publish = ["/", "ROLEKEY", "t0k3n"];
  expect(keys).toEqual([sts, publish, publish, sts, publish]);
  receivers.close();
  rmSync(dir, { recursive: true, force: true });
});

test("SNS without any credentials says where they may come from", async () => {
  const receivers = await openEntries(
    `sns_configs: [{ api_url: '${service.url}', topic_arn: t, sigv4: { region: r } }]`,
  );
  expect((await sendBy(receivers))?.message).toContain("AWS_ACCESS_KEY_ID");
  receivers.close();
});

test("a key that a label chooses is printed before it is sent", async () => {
  const receivers = await openEntries(
    `opsgenie_configs: [{ api_url: '${service.url}', api_key: '{{ .CommonLabels.host }}-key' }]`,
  );
  expect(await sendBy(receivers)).toBeUndefined();
  expect(service.requests[0]?.headers.authorization).toBe("GenieKey node-7-key");
  receivers.close();
});

test("Pushover gets its parameters in the query, by a tunnel through a proxy", async () => {
  const authority = makeAuthority("pushover test CA");
  const asking: string[] = [];
  const target = https.createServer(
    authority.issue({ commonName: "api.pushover.net", names: ["api.pushover.net"] }),
    ({ method, url = "" }, response) => {
      asking.push(`${method ?? ""} ${url}`);
      response.end('{"status":1}');
    },
  );
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  const proxy = http.createServer();
  proxy.on("connect", (incoming, client: Socket) => {
    asking.push(`CONNECT ${incoming.url ?? ""}`);
    const tunnel = net.connect((target.address() as AddressInfo).port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      client.pipe(tunnel).pipe(client);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const ca = JSON.stringify(authority.cert);
  const receivers = await openEntries(
    `pushover_configs: [{ user_key: us3rk3y, token: t0k3n, title: hot, message: '  ', url: u, retry: 90s, ttl: 1h, http_config: { proxy_url: 'http://127.0.0.1:${port}', tls_config: { ca: ${ca} } } }]`,
  );
  expect(await sendBy(receivers)).toBeUndefined();
  expect(await sendBy(receivers, resolved)).toBeUndefined();
  receivers.close();
  target.close();
  target.closeAllConnections();
  proxy.close();
  proxy.closeAllConnections();
  const query = (priority: number): string =>
    `device=&expire=3600&message=%28no+details%29&priority=${priority}&retry=90&sound=&title=hot&token=t0k3n&ttl=3600&url=u&url_title=&user=us3rk3y`;
  expect(asking).toEqual([
    "CONNECT api.pushover.net:443",
    `POST /1/messages.json?${query(2)}`,
    `POST /1/messages.json?${query(0)}`,
  ]);
});
