import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import {
  alertOf,
  notificationOf,
  openEntries,
  sendBy,
  startMs,
  startFakeService,
  twoAlerts,
} from "../../../test/fixtures/alerting/channels.ts";
import { messageOf } from "./message.ts";
import { NotificationTemplates } from "./templates.ts";

const templates = new NotificationTemplates(() => startMs);
const printed = (name: string, notification = twoAlerts): string =>
  templates.text(`{{ template "${name}" . }}`)(messageOf(notification));

/** The template names that files written for Alertmanager call. */
test.each([
  "__alertmanager",
  "__alertmanagerURL",
  "__subject",
  "__description",
  "email.default.subject",
  "email.default.html",
  "slack.default.title",
  "slack.default.username",
  "slack.default.fallback",
  "slack.default.callbackid",
  "slack.default.pretext",
  "slack.default.titlelink",
  "slack.default.iconemoji",
  "slack.default.iconurl",
  "slack.default.text",
  "slack.default.footer",
  "pagerduty.default.description",
  "pagerduty.default.client",
  "pagerduty.default.clientURL",
  "telegram.default.message",
  "discord.default.content",
  "discord.default.title",
  "discord.default.message",
  "msteams.default.summary",
  "msteams.default.title",
  "msteams.default.text",
  "msteamsv2.default.title",
  "msteamsv2.default.text",
  "opsgenie.default.message",
  "opsgenie.default.description",
  "opsgenie.default.source",
  "victorops.default.state_message",
  "victorops.default.entity_display_name",
  "victorops.default.monitoring_tool",
  "pushover.default.title",
  "pushover.default.message",
  "pushover.default.url",
  "sns.default.subject",
  "sns.default.message",
  "wechat.default.message",
  "wechat.default.to_user",
  "wechat.default.to_party",
  "wechat.default.to_tag",
  "wechat.default.agent_id",
  "webex.default.message",
  "jira.default.summary",
  "jira.default.description",
  "jira.default.priority",
  "rocketchat.default.title",
  "rocketchat.default.alias",
  "rocketchat.default.titlelink",
  "rocketchat.default.emoji",
  "rocketchat.default.iconurl",
  "rocketchat.default.text",
  "mattermost.default.text",
])("%s is there", (name) => {
  expect(() => printed(name)).not.toThrow();
});

test.each([
  [{ alertname: "A" }, { alertname: "A" }, "[FIRING:1] A "],
  [{ alertname: "A", b: "1", c: "2" }, { alertname: "A" }, "[FIRING:1] A (1 2)"],
  [{ alertname: "A", b: "1" }, { b: "1", alertname: "A" }, "[FIRING:1] A 1 "],
  [{ alertname: "A", b: "1" }, {}, "[FIRING:1]  (A 1)"],
])("the subject of %o grouped by %o is as Alertmanager's", (labels, group, subject) => {
  const notification = notificationOf([alertOf(labels)], {
    groupLabels: new Map(Object.entries(group)),
  });
  expect(printed("__subject", notification)).toBe(subject);
});

test.each([
  [["critical", "info"], "High"],
  [["info", "warning"], "Medium"],
  [["info"], "Low"],
  [["page"], ""],
])("alerts of severity %j have the Jira priority %j", (severities, priority) => {
  const alerts = severities.map((severity) => alertOf({ alertname: "A", severity }));
  expect(printed("jira.default.priority", notificationOf(alerts))).toBe(priority);
});

test("what alerts say cannot become HTML, nor a link that runs", () => {
  const evil = "<img src=x onerror=alert(1)>";
  const notification = notificationOf([
    alertOf(
      { alertname: evil, host: evil },
      { summary: evil, description: evil, runbook_url: "javascript:alert(1)", [evil]: evil },
    ),
  ]);
  const html = templates.html('{{ template "email.default.html" . }}')(messageOf(notification));
  expect(html).not.toContain("<img");
  expect(html).not.toContain("javascript:");
  expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;");
});

test("an alert without any annotation is still named", () => {
  const text = printed("email.default.text", notificationOf([alertOf({ alertname: "Bare" })]));
  expect(text).toContain("- Bare\n  alertname=Bare\n  since 2023-11-14 22:13:20 UTC");
});

test("files of the user's define templates, also over ours", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-templates-"));
  const service = await startFakeService();
  writeFileSync(path.join(dir, "a.tmpl"), '{{ define "mine" }}mine {{ .Status }}{{ end }}');
  writeFileSync(path.join(dir, "b.tmpl"), '{{ define "__subject" }}ours no more{{ end }}');
  const entry = `slack_configs: [{ api_url: '${service.url}', text: '{{ template "mine" . }}' }]`;
  const receivers = await openEntries(entry, {
    templates: "['*.tmpl']",
    file: path.join(dir, "alertmanager.yml"),
  });
  expect(await sendBy(receivers)).toBeUndefined();
  expect(JSON.parse(service.requests[0]?.text ?? "")).toMatchObject({
    attachments: [{ title: "ours no more", text: "mine firing" }],
  });
  receivers.close();
  await service.close();
  rmSync(dir, { recursive: true, force: true });
});

test("a template that fails at the alert is said, and not tried again", async () => {
  const receivers = await openEntries(
    "discord_configs: [{ webhook_url: 'http://127.0.0.1:1', title: '{{ index .Alerts 99 }}' }]",
  );
  const problem = await sendBy(receivers);
  expect([problem?.retryable, problem?.message]).toEqual([
    false,
    expect.stringContaining("a template could not be filled in"),
  ]);
  receivers.close();
});
