// Two hubs over one VictoriaMetrics evaluate the same rules and send to one real Alertmanager: the receiver is notified
// of each group once, even while one of the two is killed and restarted in the middle of a `for`.

import { createServer } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { startAlertmanager } from "../../engines/alertmanager.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { startWebhook, type WebhookPayload } from "../../engines/webhook.ts";
import { labelSet } from "../../src/model/labels.ts";

const cleanups: (() => Promise<unknown>)[] = [];
let folder: string;
beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-replicas-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
}, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

const intervalMs = 1_000;
const busyMachineMs = 120_000;
const gpus = ["0", "1", "2"];
/**
 * The last value of a minute, because VictoriaMetrics's look-back is twice the series' own interval, which a busy
 * machine may miss.
 */
const rules = `
groups:
  - name: replicas
    interval: ${intervalMs / 1_000}s
    rules:
      - { alert: Hot, expr: 'last_over_time(temp[1m]) > 80', labels: { severity: page }, annotations: { text: 'GPU {{ $labels.gpu }}' } }
      - { alert: Drained, expr: 'last_over_time(drained[1m]) > 0', for: 25s }
`;
const routing = (url: string): string => `
route: { receiver: web, group_by: [alertname], group_wait: 3s, group_interval: 3s, repeat_interval: 4h }
receivers: [{ name: web, webhook_configs: [{ url: '${url}', send_resolved: true }] }]
`;

/** The current values, written every half second. */
class Feed {
  readonly values = { temp: 50, drained: 0 };
  readonly #client: WriteClient;
  readonly #requests = new WriteRequests(
    Object.keys(this.values).flatMap((name) =>
      gpus.map((gpu) => labelSet({ __name__: name, gpu, host: "a" })),
    ),
  );
  readonly #timer: NodeJS.Timeout;

  constructor(url: string) {
    this.#client = new WriteClient(url);
    this.#timer = setInterval(() => void this.#send(), 500);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#client.close();
  }

  async #send(): Promise<void> {
    const { temp, drained } = this.values;
    const value = (index: number): number => (index < gpus.length ? temp : drained);
    const body = this.#requests.encode(0, 2 * gpus.length, [Date.now()], value);
    await this.#client.send(body).catch(() => undefined);
  }
}

interface SentAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly startsAt: string;
}

/** A relay between one replica and the Alertmanager that records the replica's alerts and forwards them. */
async function startRelay(target: string): Promise<{ url: string; sent: SentAlert[] }> {
  const sent: SentAlert[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts);
      const handOn = async (): Promise<number> => {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(target + request.url, { method: "POST", body, headers });
        if (answer.ok) sent.push(...(JSON.parse(body.toString()) as SentAlert[]));
        return answer.status;
      };
      void handOn()
        .catch(() => 503)
        .then((status) => response.writeHead(status).end());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> =>
  void (await waitUntil({ what, timeoutMs: busyMachineMs }, async () =>
    (await holds()) ? true : undefined,
  ));

interface ApiAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: string;
  readonly activeAt: string;
}

async function alertsOf({ url }: RunningHub, name: string): Promise<readonly ApiAlert[]> {
  const answer = await fetch(`${url}/api/v1/alerts`);
  const { data } = (await answer.json()) as { data: { alerts: readonly ApiAlert[] } };
  return data.alerts.filter(({ labels }) => labels["alertname"] === name);
}

test(
  "one notification for each group, also while a replica is killed and comes back",
  { timeout: 600_000, retry: 0 },
  async (context) => {
    const [victoriaProgram, alertmanagerProgram] = [
      toolOrSkip(context, "victoria-metrics"),
      toolOrSkip(context, "alertmanager"),
    ];
    const victoria = await startVictoriaMetrics(victoriaProgram, ["-dedup.minScrapeInterval=1ms"]);
    cleanups.push(() => victoria.stop());
    const webhook = await startWebhook();
    cleanups.push(() => webhook.stop());
    const alertmanager = await startAlertmanager(alertmanagerProgram, routing(webhook.url));
    cleanups.push(() => alertmanager.stop());
    const file = path.join(folder, "rules.yml");
    await writeFile(file, rules);
    const feed = new Feed(victoria.url);
    cleanups.push(async () => feed.close());

    const relays = [await startRelay(alertmanager.url), await startRelay(alertmanager.url)];
    const places = await Promise.all(
      relays.map(async ({ url }, at) => ({
        dataDir: path.join(folder, `replica-${at}`),
        port: await freePort(),
        args: [
          `--store=${victoria.url}`,
          `--rules=${file}`,
          "--no-default-rules",
          "--no-anomalies",
          `--alertmanager=${url}`,
          "--external-url=http://gpulse.example",
        ],
      })),
    );
    const replicas = [];
    for (const place of places) {
      const replica = await startHub(place);
      replicas.push(replica);
      cleanups.push(() => replica.stop());
    }
    const [first, second] = replicas as [RunningHub, RunningHub];
    const reported = (name: string, status: string): WebhookPayload[] =>
      webhook.received
        .map(({ payload }) => payload)
        .filter((one) => one.groupLabels["alertname"] === name && one.status === status);
    const sentBy = (at: number, name: string): readonly SentAlert[] =>
      relays[at]?.sent.filter(({ labels }) => labels["alertname"] === name) ?? [];

    feed.values.temp = 95;
    await until("both replicas to report on all that is hot", () =>
      [0, 1].every((at) => sentBy(at, "Hot").length >= gpus.length),
    );
    await until("the notification", () => reported("Hot", "firing").length > 0);

    // In the middle of a `for` one replica is killed; it is restarted before the time is over, and continues counting.
    feed.values.drained = 1;
    await until("both replicas to wait with the second alert", async () =>
      (await Promise.all([first, second].map((hub) => alertsOf(hub, "Drained")))).every(
        (alerts) => alerts.length === gpus.length,
      ),
    );
    const since = await alertsOf(second, "Drained");
    // Samples that are not visible in the engine yet at the restore count as downtime: seconds of these ten.
    await until("it to have waited for a while", () =>
      since.every(({ activeAt }) => Date.now() - Date.parse(activeAt) > 10_000),
    );
    await first.kill();
    const backMs = Date.now();
    const back = await startHub(places[0] as (typeof places)[0]);
    cleanups.push(() => back.stop());
    await until("the replica that came back to fire with what it restored", async () => {
      const alerts = await alertsOf(back, "Drained");
      return alerts.length === gpus.length && alerts.every(({ state }) => state === "firing");
    });
    const restored = await alertsOf(back, "Drained");
    for (const { activeAt } of restored) expect(Date.parse(activeAt)).toBeLessThan(backMs);
    expect(since.map(({ labels }) => labels)).toEqual(
      expect.arrayContaining(restored.map(({ labels }) => labels)),
    );
    await until("both replicas to report on the second alert", () =>
      [0, 1].every((at) => sentBy(at, "Drained").length >= gpus.length),
    );
    await until("its notification", () => reported("Drained", "firing").length > 0);

    // Both report the same for every alert, with timestamps on the same grid.
    for (const name of ["Hot", "Drained"]) {
      const saying = [0, 1].map((at) => new Map(sentBy(at, name).map((one) => [keyOf(one), one])));
      expect([...(saying[0]?.keys() ?? [])].sort()).toEqual([...(saying[1]?.keys() ?? [])].sort());
      for (const [key, { startsAt }] of saying[0] ?? [])
        expect(
          (Date.parse(startsAt) - Date.parse(saying[1]?.get(key)?.startsAt ?? "")) % intervalMs,
        ).toBeCloseTo(0);
    }

    feed.values.temp = 50;
    feed.values.drained = 0;
    for (const name of ["Hot", "Drained"])
      await until(`the end of ${name}`, () => reported(name, "resolved").length > 0);
    // Long enough for any notification of these groups that is still pending.
    await sleep(8_000);
    const counts = Object.fromEntries(
      ["Hot", "Drained"].flatMap((name) =>
        ["firing", "resolved"].map((status) => [
          `${name} ${status}`,
          reported(name, status).length,
        ]),
      ),
    );
    process.stderr.write(`two replicas, one killed: notifications ${JSON.stringify(counts)}\n`);
    expect(counts).toEqual({
      "Hot firing": 1,
      "Hot resolved": 1,
      "Drained firing": 1,
      "Drained resolved": 1,
    });
    for (const name of ["Hot", "Drained"])
      expect(reported(name, "firing").map(({ alerts }) => alerts.length)).toEqual([gpus.length]);
  },
);

const keyOf = ({ labels }: SentAlert): string =>
  JSON.stringify(Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)));
