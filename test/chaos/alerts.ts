// Alerts while every component on their way fails: rules fire and resolve on written samples, while a webhook, a mail
// server, the hub or its clock is down or wrong. Expected is one notification of each firing and one of each resolution,
// to both receivers.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { launchHub, type RunningHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { startRepeatingRelay } from "../../engines/repeating-relay.ts";
import { waitUntil } from "../../engines/wait.ts";
import { startWebhook } from "../../engines/webhook.ts";
import { labelSet } from "../../src/model/labels.ts";
import { type MailServer, startMailServer } from "../fixtures/alerting/channels-email.ts";
import { clockIn } from "./clock.ts";
import type { Chaos } from "./counts.ts";
import { backToLevel, levelOf } from "./level.ts";

const PATIENCE_MS = 120_000;

/** `alert-3 firing KEY`, as received. */
interface Note {
  readonly alert: string;
  readonly status: string;
  readonly key: string;
}

export interface AlertsOptions {
  /** In each round an alert fires and resolves during a fault. */
  readonly rounds: number;
  readonly kinds?: readonly string[];
}

interface AlertChaosContext {
  readonly chaos: Chaos;
  hub: RunningHub;
  readonly start: () => Promise<void>;
  readonly webhook: Awaited<ReturnType<typeof startWebhook>>;
  readonly mailDown: () => Promise<void>;
  readonly mailUp: () => Promise<void>;
  readonly setClock: (offsetMs: number) => void;
  readonly loseAnswers: (lose: boolean) => void;
}

/** `change` makes the alert fire or resolve; it resolves when the hub has acknowledged the samples for that. */
type AlertFault = (bench: AlertChaosContext, change: () => Promise<void>) => Promise<void>;

/** The fault during the firing and again during the resolution; each ends by itself. */
const alertFaults: Readonly<Record<string, AlertFault>> = {
  "webhook down": async ({ webhook, chaos }, change) => {
    void change();
    await webhook.down();
    await sleep(chaos.between(1_500, 3_000));
    await webhook.up();
  },
  "webhook answers 500": async ({ webhook, chaos }, change) => {
    void change();
    webhook.answer = 500;
    await sleep(chaos.between(1_500, 3_000));
    webhook.answer = 200;
  },
  "webhook's answers lost": async ({ loseAnswers, chaos }, change) => {
    void change();
    loseAnswers(true);
    await sleep(chaos.between(1_500, 3_000));
    loseAnswers(false);
  },
  "SMTP down": async ({ mailDown, mailUp, chaos }, change) => {
    void change();
    await mailDown();
    await sleep(chaos.between(1_500, 3_000));
    await mailUp();
  },
  // Before or after the rules have evaluated it, and before or after it was notified.
  "kill -9 of the hub": async (bench, change) => {
    void change();
    await sleep(bench.chaos.between(0, 2_500));
    await bench.hub.kill();
    await bench.start();
  },
  // The rules have almost never evaluated it: after the restart they find a changed state.
  "kill -9 of the hub before its rules look": async (bench, change) => {
    await change();
    await bench.hub.kill();
    await bench.start();
  },
  "kill -9 of the hub, and what is watched changes meanwhile": async (bench, change) => {
    await sleep(bench.chaos.between(0, 2_500));
    await bench.hub.kill();
    void change();
    await bench.start();
  },
  // Within a query's look-back, so that the gauge is still visible. Notifications scheduled ahead may be delayed by this
  // offset.
  "hub's clock jumps ahead and back": async ({ setClock, chaos }, change) => {
    void change();
    await sleep(chaos.between(0, 1_000));
    setClock(45_000);
    await sleep(chaos.between(1_500, 3_000));
    setClock(0);
  },
};

export async function alertsUnderFire(chaos: Chaos, options: AlertsOptions): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-chaos-alerts-"));
  const stops: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    await run(folder, stops, chaos, options);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function run(
  folder: string,
  stops: (() => unknown)[],
  chaos: Chaos,
  options: AlertsOptions,
): Promise<void> {
  const webhook = await startWebhook();
  stops.push(() => webhook.stop());
  let losing = false;
  const relay = await startRepeatingRelay({
    targetPort: Number(new URL(webhook.url).port),
    deliver: () => (losing ? "lose-answer" : "well"),
  });
  stops.push(() => relay.stop());
  const mailPort = await freePort();
  const mails: MailServer[] = [];
  const bench: AlertChaosContext = {
    chaos,
    hub: undefined as unknown as RunningHub,
    webhook,
    start: async () => {
      const env = Object.entries(clock.env).map(([name, value]) => `${name}=${value}`);
      bench.hub = await launchHub({ ...place, under: ["env", ...env] });
      await bench.hub.ready(PATIENCE_MS);
    },
    mailUp: async () =>
      void mails.push(
        await startMailServer({ port: mailPort, disabledCommands: ["STARTTLS", "AUTH"] }),
      ),
    mailDown: async () => mails.at(-1)?.close(),
    setClock: (offsetMs) => clock.set(offsetMs),
    loseAnswers: (lose) => (losing = lose),
  };
  const clock = clockIn(folder, "hub");
  const file = (name: string): string => path.join(folder, name);
  // Alerts without updates resolve only after minutes, which is longer than any timeout here.
  writeFileSync(
    file("alertmanager.yml"),
    `
global: { smtp_smarthost: '127.0.0.1:${mailPort}', smtp_from: gpulse@example.com, smtp_require_tls: false }
route: { receiver: both, group_by: [alertname, n], group_wait: 1s, group_interval: 1s, repeat_interval: 10h }
receivers:
  - name: both
    webhook_configs: [{ url: 'http://127.0.0.1:${relay.port}/hook' }]
    email_configs: [{ to: somebody@example.com, send_resolved: true }]
`,
  );
  writeFileSync(
    file("rules.yml"),
    JSON.stringify({
      groups: [
        { name: "g", interval: "1s", rules: [{ alert: "Broken", expr: "chaos_broken > 0" }] },
      ],
    }),
  );
  const place = {
    dataDir: file("data"),
    port: await freePort(),
    args: [
      `--rules=${file("rules.yml")}`,
      "--evaluation-interval=1s",
      "--no-default-rules",
      `--alertmanager-config=${file("alertmanager.yml")}`,
    ],
  };
  await bench.mailUp();
  stops.push(() => mails.at(-1)?.close());
  stops.push(() => bench.hub?.kill());
  await bench.start();
  const gauge = startGauge(`http://127.0.0.1:${place.port}`);
  stops.push(() => gauge.stop());
  const hooks = (): Note[] =>
    webhook.received.map(({ headers, payload }) => ({
      alert: payload.groupLabels["n"] ?? "",
      status: payload.status,
      key: String(headers["idempotency-key"]),
    }));
  const letters = (): Note[] =>
    mails.flatMap((server) => server.mails.map(({ text }) => letterOf(text)));
  const reported = (alert: number, status: string): Promise<boolean> =>
    waitUntil({ what: `alert ${alert} ${status} by both`, timeoutMs: PATIENCE_MS }, async () => {
      const has = (notes: readonly Note[]): boolean =>
        notes.some((note) => note.alert === String(alert) && note.status === status);
      if (has(hooks()) && has(letters())) return true;
      throw new Error(`webhook ${has(hooks())}, mail ${has(letters())}`);
    });

  // One alert without any fault: the resource level of a process that has notified both channels is the baseline.
  void gauge.set(0, 1);
  await reported(0, "firing");
  void gauge.set(0, 0);
  await reported(0, "resolved");
  const before = levelOf(bench.hub.process.pid);
  const kinds = options.kinds ?? Object.keys(alertFaults);
  for (let alert = 1; alert <= options.rounds; alert++) {
    for (const [status, value] of [
      ["firing", 1],
      ["resolved", 0],
    ] as const) {
      const kind = kinds[(alert - 1) % kinds.length] ?? "";
      await alertFaults[kind]?.(bench, () => gauge.set(alert, value));
      chaos.fault(kind);
      await reported(alert, status);
    }
  }
  await backToLevel("the hub", bench.hub.process.pid, before);
  for (const [channel, notes] of Object.entries({ webhook: hooks(), mail: letters() }))
    verifyDeliveries(chaos, channel, notes, options.rounds + 1);
}

/** Each notification arrives once; a repetition has the same idempotency key, by which the receiver detects it. */
function verifyDeliveries(
  chaos: Chaos,
  channel: string,
  notes: readonly Note[],
  alerts: number,
): void {
  const keys = new Map<string, Set<string>>();
  for (const { alert, status, key } of notes) {
    const name = `${alert} ${status}`;
    keys.set(name, (keys.get(name) ?? new Set()).add(key));
  }
  const pending = Array.from({ length: alerts }, (_, at) => [
    `${at} firing`,
    `${at} resolved`,
  ]).flat();
  const delivered = pending.filter((name) => keys.has(name)).length;
  chaos.recordAlerts({ expected: pending.length, delivered, repeated: notes.length - delivered });
  expect([...keys.keys()].sort(), channel).toEqual([...pending].sort());
  const twoKeys = [...keys].filter(([, used]) => used.size > 1).map(([name]) => name);
  expect(twoKeys, `${channel}: reported again as if it were another`).toEqual([]);
}

function letterOf(text: string): Note {
  const header = (name: string): string =>
    new RegExp(`^${name}: (.*)$`, "im").exec(text)?.[1]?.trim() ?? "";
  const subject = header("Subject");
  return {
    alert: /(\d+)\)?\s*$/.exec(subject)?.[1] ?? subject,
    status: /FIRING/i.test(subject) ? "firing" : "resolved",
    key: header("X-Gpulse-Idempotency-Key"),
  };
}

/** Writes the gauge of each alert four times a second until it is acknowledged, so that none goes stale. */
function startGauge(url: string): {
  /** Resolves when the sample is acknowledged. */
  set(alert: number, value: number): Promise<void>;
  stop(): Promise<void>;
} {
  const values = new Map<number, number>();
  let waiting: (() => void)[] = [];
  const stopping = new AbortController();
  const write = async (): Promise<void> => {
    const client = new WriteClient(url);
    while (!stopping.signal.aborted) {
      const now = [...values];
      const before = waiting;
      const requests = new WriteRequests(
        now.map(([alert]) => labelSet({ __name__: "chaos_broken", n: String(alert) })),
      );
      const body = requests.encode(0, now.length, [Date.now()], (at) => now[at]?.[1] ?? 0);
      // A hub that is down has nothing to evaluate either.
      const answer = now.length > 0 ? await client.send(body).catch(() => undefined) : undefined;
      if (answer?.status === 204) {
        waiting = waiting.slice(before.length);
        for (const done of before) done();
      }
      await sleep(250);
    }
    client.close();
  };
  const running = write();
  return {
    set: (alert, value) => {
      values.set(alert, value);
      return new Promise((resolve) => (waiting = [...waiting, resolve]));
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}
