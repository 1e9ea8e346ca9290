// The built hub with a webhook and a mail server (STARTTLS and AUTH) that are down while the hub is killed: after
// recovery each receives every group once, with the idempotency key it would have had before, and later its resolution.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";

import { makeAuthority } from "../../engines/certificates.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type RunningWebhook, startWebhook } from "../../engines/webhook.ts";
import { type MailServer, startMailServer } from "../fixtures/alerting/channels-email.ts";

const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

interface Delivery {
  readonly outcome: string;
  readonly channel?: string;
  readonly status: string;
  readonly group: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
}

interface OutageLab {
  readonly webhook: RunningWebhook;
  mail: MailServer | undefined;
  hub: RunningHub;
  start(): Promise<RunningHub>;
  mailUp(): Promise<MailServer>;
  /** Sets the rules' alerts that fire from now on. */
  rules(firing: readonly string[]): void;
  deliveries(): Promise<readonly Delivery[]>;
}

async function openOutageLab(): Promise<OutageLab> {
  await ensureBuild();
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-outage-"));
  stops.push(() => rmSync(dir, { recursive: true, force: true }));
  const webhook = await startWebhook();
  stops.push(() => webhook.stop());
  await webhook.down();
  const authority = makeAuthority("test CA");
  const { cert, key } = authority.issue({ commonName: "mail", names: ["127.0.0.1"] });
  writeFileSync(path.join(dir, "ca.pem"), authority.cert);
  writeFileSync(path.join(dir, "password"), "hunter2-mail\n");
  const mailPort = await freePort();
  writeFileSync(
    path.join(dir, "alertmanager.yml"),
    `
route: { receiver: both, group_by: [alertname], group_wait: 1s, group_interval: 1s, repeat_interval: 1h }
receivers:
  - name: both
    webhook_configs: [{ url: '${webhook.url}/hook' }]
    email_configs:
      - to: somebody@example.com
        from: gpulse@example.com
        smarthost: '127.0.0.1:${mailPort}'
        auth_username: gpulse
        auth_password_file: password
        send_resolved: true
        tls_config: { ca_file: ca.pem }
`,
  );
  const port = await freePort();
  const bench: OutageLab = {
    webhook,
    mail: undefined,
    hub: undefined as unknown as RunningHub,
    start: async () => {
      bench.hub = await startHub({
        dataDir: path.join(dir, "data"),
        port,
        args: [
          `--rules=${path.join(dir, "rules.yml")}`,
          "--evaluation-interval=1s",
          "--no-default-rules",
          `--alertmanager-config=${path.join(dir, "alertmanager.yml")}`,
        ],
      });
      return bench.hub;
    },
    mailUp: async () => {
      const mail = await startMailServer({
        port: mailPort,
        cert,
        key,
        user: "gpulse",
        password: "hunter2-mail",
      });
      bench.mail = mail;
      stops.push(() => mail.close());
      return mail;
    },
    rules: (firing) =>
      writeFileSync(
        path.join(dir, "rules.yml"),
        JSON.stringify({
          groups: [
            {
              name: "g",
              rules: ["Hot", "Slow"].map((alert) => ({
                alert,
                expr: firing.includes(alert) ? "vector(1)" : "vector(1) > 1",
                labels: { gpu: "0" },
                annotations: { summary: `${alert} it is` },
              })),
            },
          ],
        }),
      ),
    deliveries: async () => {
      const response = await fetch(`${bench.hub.url}/api/alerts/deliveries?limit=2000`);
      return ((await response.json()) as { deliveries: readonly Delivery[] }).deliveries;
    },
  };
  stops.push(() => bench.hub.stop());
  return bench;
}

const until = (what: string, holds: () => boolean | Promise<boolean>): Promise<true> =>
  waitUntil({ what, timeoutMs: 90_000 }, async () => ((await holds()) ? true : undefined));

/** `Hot firing KEY`, in the order of arrival. */
const hooks = ({ webhook }: OutageLab): string[] =>
  webhook.received.map(
    ({ headers, payload }) =>
      `${payload.groupLabels["alertname"]} ${payload.status} ${String(headers["idempotency-key"])}`,
  );
function mails({ mail }: OutageLab): string[] {
  return (mail?.mails ?? []).map(({ text, secure, user }) => {
    const header = (name: string): string =>
      new RegExp(`^${name}: (.*)$`, "im").exec(text)?.[1]?.trim() ?? "";
    expect({ secure, user }).toEqual({ secure: true, user: "gpulse" });
    const subject = header("Subject");
    const status = /FIRING/i.test(subject) ? "firing" : "resolved";
    const name = ["Hot", "Slow", "Once"].find((one) => subject.includes(one)) ?? subject;
    return `${name} ${status} ${header("X-Gpulse-Idempotency-Key")}`;
  });
}
const without = (lines: readonly string[]): string[] =>
  lines.map((line) => line.split(" ").slice(0, 2).join(" ")).sort((a, b) => (a < b ? -1 : 1));
/** The idempotency key of each group's first failed notification. */
const keys = (deliveries: readonly Delivery[], channel: string): string[] =>
  deliveries
    .filter((one) => one.channel === channel && one.outcome === "failed")
    .map((one) => `${one.group["alertname"]} ${one.status} ${one.idempotencyKey}`);

test("what fired before the hub was killed is reported after it is back, with the key it had, and then its end, each once", async () => {
  const bench = await openOutageLab();
  bench.rules(["Hot"]);
  await bench.start();
  // An alert that is not reported again.
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
  await fetch(`${bench.hub.url}/api/v2/alerts`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify([{ labels: { alertname: "Once" }, endsAt: inAnHour }]),
  });
  await until("both channels to fail for both groups", async () => {
    const failed = await bench.deliveries();
    return ["webhook", "email"].every((channel) => new Set(keys(failed, channel)).size === 2);
  });
  const before = await bench.deliveries();
  await bench.hub.kill();
  await bench.webhook.up();
  await bench.mailUp();
  await bench.start();
  await until(
    "both groups by both channels",
    () => hooks(bench).length >= 2 && mails(bench).length >= 2,
  );
  expect(new Set(hooks(bench))).toEqual(new Set(keys(before, "webhook")));
  expect(new Set(mails(bench))).toEqual(new Set(keys(before, "email")));
  bench.rules([]);
  await fetch(`${bench.hub.url}/-/reload`, { method: "POST" });
  await until(
    "the end by both channels",
    () => hooks(bench).length >= 3 && mails(bench).length >= 3,
  );
  for (const reported of [hooks(bench), mails(bench)])
    expect(without(reported)).toEqual(["Hot firing", "Hot resolved", "Once firing"]);
});

test("after an outage of both, each group is reported once by each; a killed hub that had reported all reports nothing again", async () => {
  const bench = await openOutageLab();
  bench.rules(["Hot", "Slow"]);
  await bench.start();
  await until("a second round to fail", async () => {
    const failed = await bench.deliveries();
    return ["webhook", "email"].every((channel) => keys(failed, channel).length >= 4);
  });
  await bench.webhook.up();
  await bench.mailUp();
  await until(
    "both groups by both channels",
    () => hooks(bench).length >= 2 && mails(bench).length >= 2,
  );
  await until("both to be written down", async () => {
    const sent = (await bench.deliveries()).filter(({ outcome }) => outcome === "sent");
    return sent.length >= 4;
  });
  await bench.hub.kill();
  await bench.start();
  await until("both to fire again", async () => {
    const response = await fetch(`${bench.hub.url}/api/v1/alerts`);
    return (await response.text()).split('"state":"firing"').length === 3;
  });
  bench.rules(["Hot"]);
  await fetch(`${bench.hub.url}/-/reload`, { method: "POST" });
  await until("the end of one", () => hooks(bench).length >= 3 && mails(bench).length >= 3);
  for (const reported of [hooks(bench), mails(bench)])
    expect(without(reported)).toEqual(["Hot firing", "Slow firing", "Slow resolved"]);
});
