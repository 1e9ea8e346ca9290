import { createHmac } from "node:crypto";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
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
import { formOf } from "./form.ts";
import { channels } from "./list.ts";

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

/** The complete requests of each channel: `testdata/NAME.golden.json`. */
const entries: readonly (readonly [name: string, entry: string])[] = [
  ["webhook", "webhook_configs: [{ url: '@URL/hook' }]"],
  ["slack", "slack_configs: [{ api_url: '@URL/services/T0/B0/xyz', channel: '#gpus' }]"],
  [
    "slack-all",
    `slack_configs:
  - api_url: @URL/services/T0/B0/xyz
    send_resolved: true
    channel: '#gpus'
    username: '{{ .Receiver }}'
    icon_emoji: ':fire:'
    link_names: true
    short_fields: true
    color: '#abcdef'
    fields: [{ title: Host, value: '{{ .CommonLabels.host }}' }, { title: Long, value: v, short: false }]
    actions: [{ type: button, text: Open, url: '{{ .ExternalURL }}', confirm: { text: Sure? } }]`,
  ],
  ["discord", "discord_configs: [{ webhook_url: '@URL/api/webhooks/1/abc' }]"],
  [
    "telegram",
    "telegram_configs: [{ api_url: @URL, bot_token: '123:abcdefgh', chat_id: -100123 }]",
  ],
  [
    "pagerduty",
    "pagerduty_configs: [{ url: '@URL/v2/enqueue', routing_key: r0ut1ngkey, severity: '{{ .CommonLabels.severity }}', links: [{ href: '{{ .ExternalURL }}', text: gpulse }] }]",
  ],
  ["pagerduty-v1", "pagerduty_configs: [{ url: '@URL/v1', service_key: s3rv1cekey }]"],
  ["msteams", "msteams_configs: [{ webhook_url: '@URL/connector' }]"],
  ["msteamsv2", "msteamsv2_configs: [{ webhook_url: '@URL/workflow' }]"],
  ["ntfy", "ntfy_configs: [{ url: @URL, topic: my-gpus, token: tk_abcdefgh }]"],
  ["gotify", "gotify_configs: [{ url: @URL, token: Axyz12345 }]"],
  ["opsgenie", "opsgenie_configs: [{ api_url: @URL, api_key: g3n13k3y }]"],
  [
    "opsgenie-all",
    `opsgenie_configs:
  - api_url: @URL/eu
    api_key: g3n13k3y
    update_alerts: true
    details: { host: '{{ .CommonLabels.host }}!' }
    responders:
      - { name: 'gpu, , ops', type: teams }
      - { username: '{{ .CommonLabels.owner }}', type: user }
      - { id: '17', type: Schedule }
    tags: 'gpu,,{{ .Status }}'
    actions: 'restart'
    note: a note
    priority: P2
    entity: '{{ .CommonLabels.host }}'`,
  ],
  [
    "victorops",
    "victorops_configs: [{ api_url: '@URL/alert/', api_key: v1ct0rkey, routing_key: gpu ops, custom_fields: { host: '{{ .CommonLabels.host }}' } }]",
  ],
  [
    "incidentio",
    "incidentio_configs: [{ url: '@URL/v2/alert_events/alertmanager/1', alert_source_token: s0urc3token }]",
  ],
  ["mattermost", "mattermost_configs: [{ webhook_url: '@URL/hooks/abc' }]"],
  [
    "mattermost-all",
    `mattermost_configs:
  - webhook_url: @URL/hooks/abc
    channel: gpus
    username: '{{ .Receiver }}'
    text: short
    type: custom_alert
    props: { card: '{{ .Status }}' }
    priority: { priority: '{{ if eq .Status "firing" }}Urgent{{ else }}none{{ end }}', requested_ack: true, persistent_notifications: true }
    attachments: [{ title: t, color: '#f00', fields: [{ title: Host, value: '{{ .CommonLabels.host }}', short: true }] }]`,
  ],
  [
    "rocketchat",
    "rocketchat_configs: [{ api_url: @URL, token: r0ck3ttoken, token_id: us3r1d, send_resolved: true, channel: '#gpus', short_fields: true, fields: [{ title: Host, value: '{{ .CommonLabels.host }}' }], actions: [{ text: Open, url: '{{ .ExternalURL }}' }] }]",
  ],
  [
    "webex",
    "webex_configs: [{ api_url: '@URL/v1/messages', room_id: r00m, http_config: { authorization: { credentials: w3b3xtoken } } }]",
  ],
  [
    "wechat",
    "wechat_configs: [{ api_url: '@URL/cgi-bin', corp_id: c0rp, api_secret: w3chatsecret, agent_id: '1000002', to_user: '@all' }]",
  ],
  [
    "sns",
    "sns_configs: [{ api_url: @URL, topic_arn: 'arn:aws:sns:eu-west-1:1:gpus.fifo', attributes: { host: '{{ .CommonLabels.host }}' }, sigv4: { region: eu-west-1, access_key: AKIDEXAMPLE, secret_key: s3cr3tkey } }]",
  ],
  [
    "jira",
    "jira_configs: [{ api_url: '@URL/rest/api/2', project: GPU, issue_type: Incident, labels: [gpulse], fields: { customfield_1: { value: '{{ .CommonLabels.host }}', number: 3 } }, resolve_transition: Done }]",
  ],
];

/** A response that every service could return: one text, since they read different fields of it. */
const answerAll: FakeService["answer"] = ({ path }) => ({
  status: 200,
  body: JSON.stringify({
    ...(path.startsWith("/services") || path === "/" ? {} : { ok: true }),
    success: true,
    errcode: 0,
    access_token: "t0ken-of-wechat",
    expires_in: 7_200,
    issues: path.endsWith("/search") ? [openIssue] : [],
    transitions: [{ id: "31", name: "Done" }],
  }),
});

const openIssue = {
  key: "GPU-7",
  fields: { status: { name: "Open", statusCategory: { key: "indeterminate" } } },
};

const bodyOf = (text: string, type: string | undefined): unknown => {
  if (text === "") return undefined;
  return type?.startsWith("application/x-www-form-urlencoded") === true
    ? Object.fromEntries(new URLSearchParams(text))
    : (JSON.parse(text) as unknown);
};

test.each(entries)("%s sends what its golden file holds", async (name, entry) => {
  const receivers = await openEntries(entry.replaceAll("@URL", service.url));
  expect(receivers.warnings).toEqual([]);
  service.answer = answerAll;
  for (const notification of [twoAlerts, resolved])
    expect(await sendBy(receivers, notification)).toBeUndefined();
  receivers.close();
  const sent = service.requests.map(({ method, path, headers, text }) => ({
    request: `${method} ${path}`,
    // The SNS signature covers the port of the test's own server.
    authorization: (headers.authorization ?? "none").replace(/Signature=.*/, "Signature=…"),
    ...(headers["x-auth-token"] === undefined
      ? {}
      : { "x-auth-token": headers["x-auth-token"], "x-user-id": headers["x-user-id"] }),
    key: headers["idempotency-key"],
    type: headers["content-type"],
    body: bodyOf(text, headers["content-type"]),
  }));
  await expect(`${JSON.stringify(sent, null, 2)}\n`).toMatchFileSnapshot(
    `testdata/${name}.golden.json`,
  );
});

test("a webhook is signed over the bytes of its body, in the header asked for", async () => {
  const entry = `webhook_configs: [{ url: '${service.url}', hmac_secret: $SIGNING, hmac_header: X-Sign }]`;
  const receivers = await openEntries(entry, { env: { SIGNING: "hunter2-signs" } });
  expect(await sendBy(receivers)).toBeUndefined();
  const [sent] = service.requests;
  const wanted = createHmac("sha256", "hunter2-signs")
    .update(sent?.text ?? "")
    .digest("hex");
  expect(sent?.headers["x-sign"]).toBe(`sha256=${wanted}`);
  receivers.close();
});

test("a webhook holds at most max_alerts, and says how many it left out", async () => {
  const alerts = Array.from({ length: 5 }, (_, gpu) =>
    alertOf({ alertname: "Hot", gpu: String(gpu) }),
  );
  const receivers = await openEntries(
    `webhook_configs: [{ url: '${service.url}', max_alerts: 2 }]`,
  );
  expect(await sendBy(receivers, notificationOf(alerts))).toBeUndefined();
  const body = JSON.parse(service.requests[0]?.text ?? "") as {
    alerts: unknown[];
    truncatedAlerts: number;
  };
  expect([body.alerts.length, body.truncatedAlerts]).toEqual([2, 3]);
  receivers.close();
});

test("http_config's credentials and headers go along, from the entry or else from the global section", async () => {
  const global = `{ http_config: { basic_auth: { username: u, password: '\${PASS}' } } }`;
  const own =
    "http_config: { authorization: { credentials: t0ken }, http_headers: { X-Team: { values: [a] } } }";
  const both = `webhook_configs: [{ url: '${service.url}/a' }, { url: '${service.url}/b', ${own} }]`;
  const receivers = await openEntries(both, { global, env: { PASS: "pw123" } });
  for (const integration of receivers.integrations("ops.team"))
    await integration.send(twoAlerts, AbortSignal.timeout(5_000));
  expect(
    service.requests.map(({ path, headers }) => [path, headers.authorization, headers["x-team"]]),
  ).toEqual([
    ["/a", `Basic ${Buffer.from("u:pw123").toString("base64")}`, undefined],
    ["/b", "Bearer t0ken", "a"],
  ]);
  receivers.close();
});

test.each([
  [429, { "retry-after": "7" }, "", true, 7_000],
  [429, {}, '{"retry_after": 1.5}', true, 1_500],
  [429, {}, '{"parameters": {"retry_after": 3}}', true, 3_000],
  [429, { "retry-after": "Tue, 14 Nov 2023 22:13:50 GMT" }, "", true, 30_000],
  [429, { "retry-after": "999999" }, "", true, 3_600_000],
  [500, {}, "broken", true, undefined],
  [503, {}, "", true, undefined],
  [408, {}, "", true, undefined],
  [400, {}, "no such field", false, undefined],
  [401, {}, "", false, undefined],
  [404, {}, "", false, undefined],
] as const)(
  "an answer of %i with %o is retried or not",
  async (status, headers, body, retryable, afterMs) => {
    service.answer = () => ({ status, headers, body });
    const receivers = await openEntries(
      `discord_configs: [{ webhook_url: '${service.url}/secret-path-1234' }]`,
    );
    const problem = await sendBy(receivers);
    expect(problem?.message).toContain(`Discord answered ${status}`);
    expect([problem?.retryable, problem?.retryAfterMs]).toEqual([retryable, afterMs]);
    receivers.close();
  },
);

test("Slack's refusal with a 200 is a refusal", async () => {
  service.answer = () => ({ status: 200, body: '{"ok":false,"error":"channel_not_found"}' });
  const entry = `slack_configs: [{ app_token: xoxb-1234, app_url: '${service.url}', channel: '#a' }]`;
  const receivers = await openEntries(entry);
  const problem = await sendBy(receivers);
  expect([problem?.message, problem?.retryable]).toEqual([
    "Slack refused it: channel_not_found",
    false,
  ]);
  expect(service.requests[0]?.headers.authorization).toBe("Bearer xoxb-1234");
  receivers.close();
});

test("a service that is not there is tried again, and its address is shown without its path", async () => {
  const { url } = service;
  await service.close();
  const receivers = await openEntries(
    `slack_configs: [{ api_url: '${url}/services/hunter2hunter2' }]`,
  );
  const problem = await sendBy(receivers);
  expect(problem?.retryable).toBe(true);
  expect(problem?.message).toMatch(/^Slack: http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  expect(problem?.message).not.toContain("hunter2");
  receivers.close();
});

test("a service that answers without end, or never, does not hold us", async () => {
  service.answer = () => ({ status: 200, body: "x".repeat(2_000_000) });
  const receivers = await openEntries(
    `webhook_configs: [{ url: '${service.url}', timeout: 200ms }]`,
  );
  const endless = await sendBy(receivers);
  expect([endless?.retryable, endless?.message]).toEqual([
    false,
    expect.stringContaining("larger"),
  ]);
  receivers.close();
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  const waiting = await openEntries(
    `webhook_configs: [{ url: 'http://127.0.0.1:${port}/', timeout: 200ms }]`,
  );
  const never = await sendBy(waiting);
  expect([never?.retryable, never?.message]).toEqual([true, expect.stringContaining("200 ms")]);
  waiting.close();
  silent.close();
});

test("a redirect is followed by a webhook alone: elsewhere the body holds the service's secret", async () => {
  service.answer = ({ path }) =>
    path === "/old"
      ? { status: 307, headers: { location: `${service.url}/new` } }
      : { status: 200 };
  const webhook = await openEntries(`webhook_configs: [{ url: '${service.url}/old' }]`);
  expect(await sendBy(webhook)).toBeUndefined();
  const pager = await openEntries(
    `pagerduty_configs: [{ url: '${service.url}/old', routing_key: abcdefg }]`,
  );
  const problem = await sendBy(pager);
  expect(problem?.message).toContain("give its new address");
  expect(service.requests.map(({ path }) => path)).toEqual(["/old", "/new", "/old"]);
  webhook.close();
  pager.close();
});

test("texts are cut to what a service takes", async () => {
  const alerts = [
    alertOf({ alertname: "Long", text: "ä".repeat(9_000) }, { summary: "ö".repeat(9_000) }),
  ];
  const entry = `discord_configs: [{ webhook_url: '${service.url}' }]
telegram_configs: [{ api_url: '${service.url}', bot_token: abcdef, chat_id: 1 }]`;
  const receivers = await openEntries(entry);
  for (const integration of receivers.integrations("ops.team"))
    await integration.send(notificationOf(alerts), AbortSignal.timeout(5_000));
  const [discord, telegram] = service.requests.map(({ text }) => JSON.parse(text) as unknown) as [
    { embeds: [{ title: string; description: string }] },
    { text: string },
  ];
  expect(Array.from(discord.embeds[0].title).length).toBe(256);
  expect(Array.from(discord.embeds[0].description).length).toBeLessThanOrEqual(4_096);
  expect(Array.from(telegram.text).length).toBeLessThanOrEqual(4_096);
  receivers.close();
});

test("a group of thousands of alerts is still reported", async () => {
  const alerts = Array.from({ length: 2_000 }, (_, gpu) =>
    alertOf(
      { alertname: "Hot", gpu: String(gpu), host: "h".repeat(50) },
      { summary: "s".repeat(200) },
    ),
  );
  service.answer = answerAll;
  for (const [name, entry] of entries) {
    const receivers = await openEntries(entry.replaceAll("@URL", service.url));
    expect([name, await sendBy(receivers, notificationOf(alerts))]).toEqual([name, undefined]);
    receivers.close();
  }
});

/** Channels whose credentials are in http_config or sigv4. */
const credentialsInside = new Set(["jira", "webex", "sns"]);
test.each(channels.map((channel) => [channel.name, channel] as const))(
  "%s has a form, and its example opens",
  async (name, channel) => {
    const form = formOf(channel);
    for (const [key, field] of Object.entries(form.schema.properties))
      expect([key, field["x-field"], field.description !== ""]).toEqual([
        key,
        expect.any(String),
        true,
      ]);
    const secrets = Object.values(form.schema.properties).filter((field) => field.writeOnly);
    expect(secrets.length > 0).toBe(!credentialsInside.has(name));
    const env = new Proxy({}, { get: () => "https://service.example/value-1234" });
    const receivers = await openEntries(
      `${name}_configs:\n  - ${channel.example.replaceAll("\n", "\n    ")}`,
      { env },
    );
    expect(receivers.integrations("ops.team").map((one) => one.channel)).toEqual([name]);
    receivers.close();
  },
);

test("whatever a label holds, every channel posts to its own address with headers of one line each", async () => {
  const evil = "x\r\nX-Injected: 1\r\nHost: evil.example\r\n\r\nGET /evil HTTP/1.1";
  const [alert] = twoAlerts.alerts;
  if (alert === undefined) throw new Error("BUG: no alert");
  const labels = Object.fromEntries(Object.keys(alert.labels).map((name) => [name, evil]));
  const hostile = notificationOf([{ ...alert, labels, annotations: { summary: evil } }], {
    groupKey: evil,
    groupLabels: new Map(Object.entries(labels)),
  });
  for (const [name, entry] of entries) {
    const receivers = await openEntries(entry.replaceAll("@URL", service.url));
    await sendBy(receivers, hostile);
    receivers.close();
    expect(service.requests.length, name).toBeGreaterThan(0);
    for (const { headers, path: target } of service.requests.splice(0)) {
      expect(headers, name).not.toHaveProperty("x-injected");
      expect([headers.host, target.includes("evil")], name).toEqual([
        `127.0.0.1:${service.port}`,
        false,
      ]);
    }
  }
});
