import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeAuthority } from "../../../engines/certificates.ts";
import { parseRouting } from "../route/config.ts";
import { createLog } from "../../base/log.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import {
  type MailServer,
  startMailServer,
} from "../../../test/fixtures/alerting/channels-email.ts";
import {
  type FakeService,
  startFakeService,
  startMs,
  twoAlerts,
} from "../../../test/fixtures/alerting/channels.ts";
import { openReceivers } from "./open.ts";
import { redactConfig } from "./redact.ts";
import { testReceiver } from "./test-receiver.ts";

const certificate = makeAuthority("test CA").issue({ commonName: "mail" });

/** Every secret of the file below contains this text. */
const mark = "hunter2";

let dir: string;
let service: FakeService;
let mail: MailServer;
beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-secrets-"));
  service = await startFakeService();
  mail = await startMailServer({
    ...certificate,
    user: "u",
    password: "another",
    allowInsecureAuth: true,
  });
  writeFileSync(path.join(dir, "token"), `${mark}-from-a-file\n`);
  writeFileSync(path.join(dir, "address"), `${service.url}/${mark}/from/a/file\n`);
});
afterEach(async () => {
  await service.close();
  await mail.close();
  rmSync(dir, { recursive: true, force: true });
});

const file = (url: string, smtpPort: number): string => `
# The password is ${mark}.
global:
  smtp_smarthost: 127.0.0.1:${smtpPort}
  smtp_from: a@example.com
  smtp_auth_username: u
  smtp_auth_password: $EMAIL_PASS
  smtp_require_tls: false
  slack_api_url: ${url}/services/${mark}slackslack
  opsgenie_api_key: ${mark}
  http_config: { basic_auth: { username: u, password: ${mark}-basic } }
route: { receiver: all }
receivers:
  - name: all
    email_configs: [{ to: x@example.com }, { to: y@example.com, auth_password_file: token }]
    webhook_configs:
      - { url: '${url}/${mark}', hmac_secret: '${mark}-sign' }
      - { url_file: address, http_config: { authorization: { credentials_file: token } } }
      - { url: 'http://u:${mark}pw@127.0.0.1:1/x?token=${mark}', http_config: { http_headers: { X-Key: { secrets: ['${mark}-header'] } } } }
    slack_configs: [{ channel: a }, { app_token: '${mark}-app', app_url: '${url}/a', channel: a }]
    discord_configs: [{ webhook_url: '${url}/api/webhooks/1/${mark}' }]
    telegram_configs: [{ api_url: '${url}', bot_token: '123:${mark}', chat_id: 1 }]
    pagerduty_configs: [{ url: '${url}', routing_key: '${mark}-key' }]
    msteams_configs: [{ webhook_url: '${url}/${mark}' }]
    msteamsv2_configs: [{ webhook_url: '${url}/${mark}' }]
    ntfy_configs: [{ url: '${url}', topic: '${mark}-topic', token: '${mark}-ntfy' }]
    gotify_configs: [{ url: '${url}', token: '${mark}-gotify' }]
    mqtt_configs: [{ url: 'mqtt://127.0.0.1:1', username: u, password: '${mark}-mqtt' }]
    opsgenie_configs: [{ api_key: '${mark}-genie', api_url: '${url}' }]
    victorops_configs: [{ api_key: '${mark}-victor', api_url: '${url}', routing_key: r }]
    pushover_configs: [{ user_key: '${mark}-user', token: '${mark}-push', http_config: { proxy_url: 'http://u:${mark}@127.0.0.1:1' } }]
    sns_configs: [{ api_url: '${url}', topic_arn: t, sigv4: { region: r, access_key: '${mark}-id', secret_key: '${mark}-aws' } }]
    jira_configs: [{ api_url: '${url}/rest/api/2', project: P, issue_type: Bug }]
    wechat_configs: [{ api_url: '${url}', api_secret: '${mark}-wechat', corp_id: c }]
    webex_configs: [{ api_url: '${url}', room_id: r, http_config: { authorization: { credentials: '${mark}-webex' } } }]
    rocketchat_configs: [{ api_url: '${url}', token: '${mark}-rocket', token_id: '${mark}-rocketid' }]
    incidentio_configs: [{ url: '${url}/${mark}', alert_source_token: '${mark}-incident' }]
    mattermost_configs: [{ webhook_url: '${url}/hooks/${mark}' }]
`;

test("no secret is in an error, a log line, a warning, a test's outcome or the file as it is shown", async () => {
  const lines: string[] = [];
  const clock = new FakeClock(startMs);
  const log = createLog({
    level: "debug",
    json: true,
    colour: false,
    nowMs: () => startMs,
    write: (line) => lines.push(line),
  });
  const source = file(service.url, mail.port);
  const receivers = await openReceivers(await parseRouting(source, "alertmanager.yml"), {
    file: path.join(dir, "alertmanager.yml"),
    env: { EMAIL_PASS: `${mark}-env` },
    log,
    clock,
  });
  // A service that rejects the request and echoes it.
  service.answer = ({ path: asked, headers, text }) => ({
    status: 400,
    body: `${asked} ${JSON.stringify(headers)} ${text}`,
  });
  const problems: unknown[] = [];
  for (const integration of receivers.integrations("all"))
    await integration
      .send(twoAlerts, AbortSignal.timeout(5_000))
      .catch((thrown: unknown) => problems.push(thrown));
  const ways = receivers.integrations("all").length;
  expect(problems).toHaveLength(ways);
  expect(service.requests.length).toBeGreaterThan(8);
  expect(JSON.stringify(service.requests)).toContain(mark);
  const outcomes = await testReceiver(receivers, "all", {
    clock,
    externalUrl: "http://hub",
    id: "1",
  });
  expect(outcomes.map(({ ok }) => ok)).toEqual(problems.map(() => false));
  const shown = await redactConfig(source);
  expect(shown).toContain("smtp_auth_password: <secret>");
  const seen = {
    troubles: problems.map(
      (problem) => `${inspect(problem, { depth: 9 })} ${JSON.stringify(problem)}`,
    ),
    lines,
    warnings: receivers.warnings,
    outcomes,
    shown,
    receivers: inspect(receivers, { depth: 9, showHidden: true }),
    integrations: inspect(receivers.integrations("all"), { depth: 9, showHidden: true }),
  };
  const leaks = Object.entries(seen).filter(([, value]) => {
    const text = JSON.stringify(value);
    return text.includes(mark) || text.includes(Buffer.from(mark).toString("base64").slice(0, 8));
  });
  expect(leaks).toEqual([]);
  expect(receivers.hide(`it is ${mark}-env`)).toBe("it is <secret>");
  receivers.close();
});

test("the file as it is shown keeps all else, and is a file still", async () => {
  const source = file("http://127.0.0.1:1", 25);
  const shown = await redactConfig(source);
  expect(shown).not.toContain(mark);
  expect(shown).toContain("smtp_smarthost: 127.0.0.1:25");
  expect(shown).toContain("url_file: address");
  expect(shown).toContain("username: u");
  expect(shown).toContain("chat_id: ");
  const [before, after] = await Promise.all([parseRouting(source, "a"), parseRouting(shown, "b")]);
  expect(after.route).toEqual({ ...before.route });
  expect(after.receivers.map(Object.keys)).toEqual(before.receivers.map(Object.keys));
});
