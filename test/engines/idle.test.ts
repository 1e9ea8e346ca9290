// The idle GPU requests work, end to end with the built program: the alert, the webhook, the mail, the queue of shell
// jobs.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";

import { makeAuthority } from "../../engines/certificates.ts";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { ensureBuild, repository, runGpulse } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { startMailServer } from "../fixtures/alerting/channels-email.ts";
import { startFakeService } from "../fixtures/alerting/channels.ts";
import type { Payload } from "../../src/alerting/channels/payload.ts";
import { firstIdle, idleAlerts, openIdleLab } from "./idle-lab.ts";

const ends: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const kept = async <Thing extends { close(): Promise<unknown> }>(opening: Promise<Thing>) => {
  const thing = await opening;
  ends.push(() => thing.close());
  return thing;
};

test(
  "an idle GPU is pending at once, fires after its time, gets the next job once, and resolves when it is taken",
  { timeout: 180_000 },
  async () => {
    const lab = await kept(openIdleLab("30s"));
    const service = await kept(startFakeService());
    const authority = makeAuthority("test CA");
    const mail = await kept(
      startMailServer({
        user: "gpulse",
        password: "open sesame",
        ...authority.issue({ commonName: "localhost", names: ["localhost", "127.0.0.1"] }),
      }),
    );
    const queue = path.join(lab.dir, "queue");
    mkdirSync(path.join(queue, "waiting"), { recursive: true });
    writeFileSync(
      path.join(queue, "waiting", "1-first.sh"),
      `echo "$CUDA_VISIBLE_DEVICES $GPU_MEMORY_FREE_BYTES" >> ${lab.dir}/ran; until [ -e ${lab.dir}/go ]; do sleep 0.1; done\n`,
    );
    writeFileSync(path.join(queue, "waiting", "2-second.sh"), `echo second >> ${lab.dir}/ran\n`);
    const queuePort = await freePort();
    const jobs = startProcess(
      process.execPath,
      [
        path.join(repository, "deploy/examples/idle-queue/idle-queue.mjs"),
        "--queue",
        queue,
        "--port",
        String(queuePort),
        "--least-free",
        "20GB",
      ],
      { name: "idle-queue", env: { IDLE_QUEUE_TOKEN: "queue token" } },
    );
    ends.push(() => jobs.stop());
    await jobs.waitForOutput(/listens/);
    lab.file("ca.pem", authority.cert);
    const routing = lab.file(
      "alertmanager.yml",
      `
global:
  smtp_smarthost: localhost:${mail.port}
  smtp_from: gpulse@example.org
  smtp_auth_username: gpulse
  smtp_auth_password: $EMAIL_PASS
route:
  receiver: nobody
  routes:
    - { receiver: scheduler, matchers: [alertname = GpuIdle], group_by: [uuid], group_wait: 0s, group_interval: 1s, repeat_interval: 1h }
receivers:
  - name: nobody
  - name: scheduler
    webhook_configs:
      - url: ${service.url}/idle
      - url: http://127.0.0.1:${queuePort}
        http_config: { authorization: { credentials: queue token } }
    email_configs:
      - { to: ops@example.org, send_resolved: true, tls_config: { ca_file: ${lab.dir}/ca.pem } }
`,
    );
    const startedMs = Date.now();
    await lab.start([`--alertmanager-config=${routing}`], { EMAIL_PASS: "open sesame" });

    const first = await firstIdle(lab);
    expect(first).toMatchObject({ state: "pending", labels: { gpu: "0", host: "lab" } });
    const uuid = first.labels["uuid"] ?? "";
    const payloads = (): Payload[] =>
      service.requests.map(({ text }) => JSON.parse(text) as Payload);
    await waitUntil({ what: "the webhook", timeoutMs: 30_000 }, async () => payloads()[0]);
    await waitUntil({ what: "the job to start", timeoutMs: 30_000 }, async () =>
      existsSync(path.join(lab.dir, "ran")) ? true : undefined,
    );
    // The GPU becomes busy half a minute after the start, which resolves the alert.
    await waitUntil({ what: "the alert to resolve", timeoutMs: 60_000 }, async () =>
      payloads().length > 1 && mail.mails.length > 1 ? true : undefined,
    );
    lab.file("go", "");
    await waitUntil({ what: "the job to end", timeoutMs: 10_000 }, async () =>
      existsSync(path.join(queue, "done", "1-first.sh")) ? true : undefined,
    );
    expect(await idleAlerts(lab)).toEqual([]);

    const [firing, resolved, ...more] = payloads();
    expect(more).toEqual([]);
    expect([firing?.status, resolved?.status]).toEqual(["firing", "resolved"]);
    const alert = firing?.alerts[0];
    expect(alert?.labels).toMatchObject({ alertname: "GpuIdle", uuid, gpu: "0", host: "lab" });
    expect(alert?.annotations).toMatchObject({ gpu_model: "NVIDIA H200" });
    expect(Number(alert?.annotations["memory_free_bytes"])).toBeGreaterThan(140e9);
    const firedMs = Date.parse(alert?.startsAt ?? "");
    expect(firedMs - Date.parse(first.activeAt)).toBeGreaterThanOrEqual(5_000);
    expect(Date.parse(resolved?.alerts[0]?.endsAt ?? "")).toBeGreaterThan(startedMs + 25_000);
    expect(resolved?.alerts[0]).toMatchObject({
      startsAt: alert?.startsAt,
      fingerprint: alert?.fingerprint,
    });

    expect(mail.mails.map(({ secure, user, to }) => ({ secure, user, to }))).toEqual(
      Array.from({ length: 2 }, () => ({ secure: true, user: "gpulse", to: ["ops@example.org"] })),
    );
    expect(mail.mails[0]?.text).toContain("GpuIdle");

    expect(readFileSync(path.join(lab.dir, "ran"), "utf8")).toBe(
      `${uuid} ${alert?.annotations["memory_free_bytes"]}\n`,
    );
    // The GPU no longer requests work, so the second job stays in the queue.
    expect(readdirSync(path.join(queue, "waiting"))).toEqual(["2-second.sh"]);

    const { data } = await waitUntil({ what: "the timeline", timeoutMs: 10_000 }, async () => {
      const list = await lab.get<{
        data: { events: { state: string; labels: { alertname: string } }[] };
      }>("/api/events?kind=alert");
      return list.data.events.filter(({ state }) => state === "sent").length >= 6
        ? list
        : undefined;
    });
    const states = data.events
      .filter(({ labels }) => labels.alertname === "GpuIdle")
      .map(({ state }) => state);
    expect(states.filter((state) => state !== "sent")).toEqual(["firing", "resolved"]);
  },
);

test(
  "the hub itself starts a job for an idle GPU when the webhook comes back to it with a token, once",
  { timeout: 180_000 },
  async () => {
    const lab = await kept(openIdleLab("25s"));
    const data = path.join(lab.dir, "data");
    const made = await runGpulse(["token", "add", "alerts", "--scope", "push", "--data", data]);
    const token = /gpulse_push_\S+/.exec(made.stdout)?.[0] ?? "none";
    lab.file(
      "gpulse.yaml",
      `
hub:
  alertmanager_config: alertmanager.yml
  on_alert:
    - match: ['alertname = GpuIdle']
      command: [sh, -c, 'echo "$GPULSE_ALERT_LABEL_UUID $GPULSE_ALERT_ANNOTATION_MEMORY_FREE_BYTES" >> ran']
`,
    );
    lab.file(
      "alertmanager.yml",
      `
route: { receiver: hub, group_by: [...], group_wait: 0s, group_interval: 1s, repeat_interval: 2s }
receivers:
  - name: hub
    webhook_configs:
      - url: ${lab.url}/alert
        http_config: { authorization: { credentials: ${token} } }
`,
    );
    await lab.start(["--config", path.join(lab.dir, "gpulse.yaml")]);
    const { labels } = await firstIdle(lab);
    const ran = path.join(lab.dir, "ran");
    await waitUntil({ what: "the command", timeoutMs: 30_000 }, async () =>
      existsSync(ran) ? true : undefined,
    );
    await waitUntil({ what: "the alert to resolve", timeoutMs: 60_000 }, async () =>
      (await idleAlerts(lab)).length === 0 ? true : undefined,
    );
    // The notification was repeated every two seconds.
    expect(readFileSync(ran, "utf8").trim().split("\n")).toEqual([
      expect.stringMatching(new RegExp(`^${labels["uuid"]} \\d{12}$`)),
    ]);
    const anonymous = await fetch(`${lab.url}/alert`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(anonymous.status).toBe(401);
  },
);
