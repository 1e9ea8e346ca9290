// The same alerts through a real Alertmanager and through our own router and channels, to the same webhook and the same
// mail server: the notifications must be the same.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { parseRouting } from "../../src/alerting/route/config.ts";
import { Router } from "../../src/alerting/route/router.ts";
import { openAlertState } from "../../src/alerting/state.ts";
import { silentLog } from "../../src/base/log.ts";
import { type MailServer, startMailServer } from "../fixtures/alerting/channels-email.ts";
import { type FakeService, startFakeService } from "../fixtures/alerting/channels.ts";
import { openReceivers } from "../../src/alerting/channels/open.ts";
import type { Payload } from "../../src/alerting/channels/payload.ts";
import { systemClock } from "../../src/base/clock.ts";

interface ReceivedNotification {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly endsAt?: string;
  readonly generatorURL: string;
}

let dir: string;
let service: FakeService;
let mail: MailServer;
const running: RunningProcess[] = [];

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-notify-"));
  service = await startFakeService();
  mail = await startMailServer({ disabledCommands: ["STARTTLS", "AUTH"] });
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
  await service.close();
  await mail.close();
  rmSync(dir, { recursive: true, force: true });
});

const config = (url: string, smtpPort: number): string => `
global: { smtp_smarthost: '127.0.0.1:${smtpPort}', smtp_from: a@example.com, smtp_require_tls: false }
route:
  receiver: web.hook
  group_by: [alertname]
  group_wait: 1s
  group_interval: 1s
  routes:
    - { receiver: 'team-b (few)', matchers: ['team="b"', 'gpu=~"[0-9]+"'], group_by: [host, site], continue: true }
    - { receiver: one-by-one, matchers: ['alertname="Single"'], group_by: ['...'] }
    - { receiver: none, matchers: ['alertname="Ungrouped"'], group_by: [] }
receivers:
  - { name: web.hook, webhook_configs: [{ url: '${url}' }], email_configs: [{ to: x@example.com, send_resolved: true }] }
  - { name: 'team-b (few)', webhook_configs: [{ url: '${url}', max_alerts: 2 }] }
  - { name: one-by-one, webhook_configs: [{ url: '${url}', send_resolved: false }] }
  - { name: none, webhook_configs: [{ url: '${url}' }], email_configs: [{ to: y@example.com }] }
`;

/** Began a minute ago: past every group_wait, so that a whole group is sent at once. */
const begun = (secondsAgo: number): string => new Date(baseMs - secondsAgo * 1_000).toISOString();
const baseMs = Math.floor(Date.now() / 1_000) * 1_000;

const alert = (
  labels: Record<string, string>,
  annotations: Record<string, string> = {},
  more: Partial<ReceivedNotification> = {},
): ReceivedNotification => ({
  labels,
  annotations,
  startsAt: begun(0),
  generatorURL: "http://prometheus/graph?g0.expr=a%3Eb&x",
  ...more,
});

const firing: readonly ReceivedNotification[] = [
  alert(
    { alertname: "GpuHot", host: "b", gpu: "10", severity: "critical" },
    { summary: "hot", same: "yes" },
  ),
  alert(
    { alertname: "GpuHot", host: "a", gpu: "2", severity: "critical" },
    { summary: "hotter", same: "yes" },
  ),
  alert(
    { alertname: "GpuHot", host: "a", gpu: "1", severity: "critical", job: "z" },
    { same: "yes" },
  ),
  alert(
    { alertname: "GpuHot", instance: "i:1", severity: "critical" },
    { same: "yes", more: "only here" },
  ),
  alert(
    { alertname: 'Quo"ted \\ <b>&amp;', zone: "ä ö\n☃" },
    { description: 'line\nbreak "quoted" <i>' },
  ),
  alert({ alertname: "X", team: "b", gpu: "0", host: "h" }),
  alert({ alertname: "Y", team: "b", gpu: "1", host: "h" }),
  alert({ alertname: "Z", team: "b", gpu: "2", host: "h", site: "s" }, { a: "b" }),
  alert({ alertname: "V", team: "b", gpu: "3", host: "h" }),
  alert({ alertname: "Single", n: "1" }),
  alert({ alertname: "Single", n: "2" }),
  alert({ alertname: "Ungrouped", n: "1" }),
  alert({ alertname: "Ungrouped", n: "2", m: "" }),
];
const ended = firing
  .filter(({ labels }) => ["GpuHot", "Single", "Ungrouped"].includes(labels["alertname"] ?? ""))
  .map((reported) => ({ ...reported, endsAt: begun(-1) }));

/** Removes what may differ: the origin, and fractions of seconds. */
function comparable(requests: FakeService["requests"]): unknown[] {
  return requests
    .map(({ text, headers }) => {
      const payload = JSON.parse(text) as Payload;
      expect(Object.keys(payload)).toEqual(fields);
      expect(headers["content-type"]).toBe("application/json");
      return { ...payload, externalURL: "" };
    })
    .sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}
const fields =
  "receiver status alerts groupLabels commonLabels commonAnnotations externalURL version groupKey truncatedAlerts".split(
    " ",
  );
const keyOf = ({ groupKey, receiver, status }: Payload): string =>
  `${groupKey} ${receiver} ${status}`;
const subjects = (): string[] =>
  mail.mails
    .map(
      ({ to, text }) => `${to.join()} ${/^Subject: (.*(?:\r?\n[ \t].*)*)/m.exec(text)?.[1] ?? ""}`,
    )
    .sort();

interface Round {
  readonly payloads: readonly unknown[];
  readonly subjects: readonly string[];
}

/** Sends the alerts, and waits until no more notifications arrive. */
async function round(tell: () => Promise<void>, expected: number): Promise<Round> {
  service.requests.length = 0;
  mail.mails.length = 0;
  await tell();
  await waitUntil({ what: `${expected} webhooks`, timeoutMs: 20_000 }, async () =>
    service.requests.length >= expected ? true : undefined,
  );
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  return { payloads: comparable(service.requests), subjects: subjects().map(decoded) };
}

/** Both encode a non-ASCII subject as encoded words, in different ways. */
const decoded = (subject: string): string =>
  subject
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toUpperCase() === "B"
        ? Buffer.from(text, "base64").toString("latin1")
        : Buffer.from(
            text
              .replaceAll("_", " ")
              .replace(/=([0-9A-F]{2})/g, (_hex, code: string) =>
                String.fromCharCode(parseInt(code, 16)),
              ),
            "latin1",
          ).toString("latin1"),
    )
    .replace(/\s+/g, " ")
    .trim();

async function throughAlertmanager(program: string, expected: readonly number[]): Promise<Round[]> {
  const file = path.join(dir, "alertmanager.yml");
  writeFileSync(file, config(service.url, mail.port));
  const address = `127.0.0.1:${await freePort()}`;
  const alertmanager = startProcess(program, [
    `--config.file=${file}`,
    `--storage.path=${path.join(dir, "am")}`,
    `--web.listen-address=${address}`,
    "--cluster.listen-address=",
  ]);
  running.push(alertmanager);
  await alertmanager.waitForUrl(`http://${address}/-/ready`);
  const tell = (alerts: readonly ReceivedNotification[]) => async () => {
    const answer = await fetch(`http://${address}/api/v2/alerts`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(alerts),
    });
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  };
  return [await round(tell(firing), expected[0] ?? 0), await round(tell(ended), expected[1] ?? 0)];
}

async function throughUs(expected: readonly number[]): Promise<Round[]> {
  const routing = await parseRouting(config(service.url, mail.port), "alertmanager.yml");
  const receivers = await openReceivers(routing, {
    file: "alertmanager.yml",
    env: {},
    log: silentLog,
    clock: systemClock,
  });
  const state = openAlertState(path.join(dir, "ours"), silentLog);
  const router = new Router({
    ...state,
    config: routing,
    integrations: receivers.integrations,
    externalUrl: "http://hub",
    clock: systemClock,
    random: () => 0.5,
    log: silentLog,
  });
  const tell = (alerts: readonly ReceivedNotification[]) => async () => {
    const reported = alerts.map(({ labels, annotations, startsAt, endsAt, generatorURL }) => ({
      // Alertmanager drops labels with an empty value on receipt, and so does our API.
      labels: new Map(Object.entries(labels).filter(([, value]) => value !== "")),
      annotations,
      startsAtMs: Date.parse(startsAt),
      endsAtMs: endsAt === undefined ? undefined : Date.parse(endsAt),
      generatorUrl: generatorURL,
    }));
    expect(router.put(reported)).toBe(0);
  };
  const rounds = [
    await round(tell(firing), expected[0] ?? 0),
    await round(tell(ended), expected[1] ?? 0),
  ];
  await router.close();
  state.close();
  receivers.close();
  return rounds;
}

test("webhooks and subjects are those of a real Alertmanager, firing and resolved", async (context) => {
  const program = toolOrSkip(context, "alertmanager");
  // Firing: GpuHot, the quoted one, two groups of team b, two single ones, the ungrouped. Then three of them resolve.
  const expected = [7, 2];
  const theirs = await throughAlertmanager(program, expected);
  const ours = await throughUs(expected);
  expect(theirs.map(({ payloads }) => payloads.length)).toEqual(expected);
  expect(theirs.map(({ subjects: found }) => found.length)).toEqual([3, 1]);
  expect(ours).toEqual(theirs);
});

test("files that we read are files to amtool", async (context) => {
  const amtool = toolOrSkip(context, "amtool");
  const folder = fileURLToPath(
    new URL("../../src/alerting/channels/testdata/config", import.meta.url),
  );
  for (const name of ["simple.good.yml", "chat.good.yml"]) {
    const { code, stdout, stderr } = await runProcess(amtool, [
      "check-config",
      path.join(folder, name),
    ]);
    expect([name, code, code === 0 ? "" : stdout + stderr]).toEqual([name, 0, ""]);
  }
});
