// A mail server that is down for a while: the webhook does not wait for it, and each group's mail arrives once after it
// is back.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

import { makeAuthority } from "../../engines/certificates.ts";
import { freePort } from "../../engines/ports.ts";
import { waitUntil } from "../../engines/wait.ts";
import { parseRouting } from "../../src/alerting/route/config.ts";
import { Router } from "../../src/alerting/route/router.ts";
import { openAlertState } from "../../src/alerting/state.ts";
import { silentLog } from "../../src/base/log.ts";
import { startMailServer } from "../fixtures/alerting/channels-email.ts";
import { startFakeService } from "../fixtures/alerting/channels.ts";
import { openReceivers } from "../../src/alerting/channels/open.ts";
import { systemClock } from "../../src/base/clock.ts";

const messageIds = (texts: readonly string[]): string[] =>
  texts.map((text) => /^Message-ID: (.*)$/im.exec(text)?.[1] ?? "");

test("mail waits for its server, the webhook waits for nobody, and nothing comes twice", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-outage-"));
  const service = await startFakeService();
  const port = await freePort();
  const source = `
route: { receiver: both, group_by: [alertname], group_wait: 0s, group_interval: 60s }
receivers:
  - name: both
    webhook_configs: [{ url: '${service.url}' }]
    email_configs:
      - { to: x@example.com, from: a@example.com, smarthost: '127.0.0.1:${port}', send_resolved: true,
          auth_username: gpulse, auth_password: $EMAIL_PASS, tls_config: { insecure_skip_verify: true } }
`;
  const routing = await parseRouting(source, "alertmanager.yml");
  const receivers = await openReceivers(routing, {
    file: path.join(dir, "alertmanager.yml"),
    env: { EMAIL_PASS: "hunter2-mail" },
    log: silentLog,
    clock: systemClock,
  });
  const open = () => {
    const state = openAlertState(dir, silentLog);
    const router = new Router({
      ...state,
      config: routing,
      integrations: receivers.integrations,
      externalUrl: "http://hub",
      clock: systemClock,
      random: Math.random,
      log: silentLog,
    });
    return { router, close: () => router.close().then(() => state.close()) };
  };
  const alerts = ["Hot", "Idle"].map((alertname) => ({
    labels: new Map([["alertname", alertname]]),
    annotations: {},
    startsAtMs: Date.now(),
    generatorUrl: "",
  }));
  const before = open();
  expect(before.router.put(alerts)).toBe(0);
  const arrived = (count: number, found: () => number) =>
    waitUntil({ what: `${count} to arrive`, timeoutMs: 30_000 }, async () =>
      found() >= count ? true : undefined,
    );
  await arrived(2, () => service.requests.length);
  // The process restarts while the mails are still pending.
  await before.close();
  const after = open();
  expect(after.router.put(alerts)).toBe(0);
  const { cert, key } = makeAuthority("test CA").issue({
    commonName: "mail",
    names: ["127.0.0.1"],
  });
  const mail = await startMailServer({ port, cert, key, user: "gpulse", password: "hunter2-mail" });
  await arrived(2, () => mail.mails.length);
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(mail.mails).toHaveLength(2);
  expect(new Set(messageIds(mail.mails.map(({ text }) => text))).size).toBe(2);
  expect(service.requests).toHaveLength(2);
  await after.close();
  receivers.close();
  await mail.close();
  await service.close();
  rmSync(dir, { recursive: true, force: true });
});
