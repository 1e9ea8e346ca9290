/**
 * Measures the time from a value that crosses a threshold to a webhook and a mail server, through the hub and through Prometheus
 * with Alertmanager.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SMTPServer } from "smtp-server";
import { startAlertmanager } from "../../engines/alertmanager.ts";
import { startHub } from "../../engines/hub.ts";
import { requiredTool } from "../../engines/cache.ts";
import { freePort } from "../../engines/ports.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { waitUntil } from "../../engines/wait.ts";
import { random } from "../store-data.ts";
import type { Context } from "./measurement.ts";

/** When the notification of each crossing was received. */
type ReceiptTimes = Map<string, number>;

/**
 * The offsets at which a target is scraped and a group evaluated depend on their names, and the two offsets decide how long a
 * crossing waits: several of each are used in turn, or the ratio would be a matter of luck.
 */
const places = 8;
const everyPlace = Array.from({ length: places }, (_, place) => place);

const rules = {
  groups: everyPlace.map((place) => ({
    name: `place-${place}`,
    interval: "1s",
    rules: [{ alert: "Crossed", expr: `bench_${place} > 0`, labels: { severity: "warning" } }],
  })),
};

const routing = (webhook: string, mail: number): string =>
  JSON.stringify({
    global: {
      smtp_smarthost: `127.0.0.1:${mail}`,
      smtp_from: "bench@localhost",
      smtp_require_tls: false,
    },
    route: {
      receiver: "both",
      group_by: ["alertname", "crossing"],
      group_wait: "0s",
      group_interval: "1s",
      repeat_interval: "1h",
    },
    receivers: [
      {
        name: "both",
        webhook_configs: [{ url: webhook, send_resolved: false }],
        email_configs: [
          {
            to: "person@localhost",
            send_resolved: false,
            headers: { Subject: "crossing={{ .CommonLabels.crossing }}." },
          },
        ],
      },
    ],
  });

/** Records when a message first mentions a crossing. */
async function startMail(): Promise<{
  port: number;
  heard: ReceiptTimes;
  stop: () => Promise<void>;
}> {
  const heard: ReceiptTimes = new Map();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, _session, done) => {
      let text = "";
      stream.on("data", (part: Buffer) => (text += part.toString("latin1")));
      stream.on("end", () => {
        const crossing = /crossing=([\w-]+)/.exec(text)?.[1];
        if (crossing !== undefined && !heard.has(crossing)) heard.set(crossing, performance.now());
        done();
      });
    },
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    port,
    heard,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The engines' webhook records no times, so this one does. */
async function startHook(): Promise<{
  url: string;
  heard: ReceiptTimes;
  stop: () => Promise<void>;
}> {
  const heard: ReceiptTimes = new Map();
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString("utf8")));
    request.on("end", () => {
      const atMs = performance.now();
      for (const [, crossing] of text.matchAll(/"crossing":"([\w-]+)"/g))
        if (crossing !== undefined && !heard.has(crossing)) heard.set(crossing, atMs);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    heard,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Side {
  readonly hook: Awaited<ReturnType<typeof startHook>>;
  readonly mail: Awaited<ReturnType<typeof startMail>>;
}

export async function notificationLatency({ full, put, progress }: Context): Promise<void> {
  const rounds = full ? 4 * places : 2 * places;
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-notify-"));
  const stops: (() => Promise<unknown>)[] = [];
  const next = random(7);
  try {
    const pages = everyPlace.map(() => "");
    const target = createServer((request, response) => {
      response.end(pages[Number(request.url?.slice(1))] ?? "");
    });
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    stops.unshift(async () => (target.closeAllConnections(), target.close()));
    const address = `127.0.0.1:${(target.address() as AddressInfo).port}`;
    const side = async (): Promise<Side> => {
      const made = { hook: await startHook(), mail: await startMail() };
      stops.unshift(made.hook.stop, made.mail.stop);
      return made;
    };
    const [ours, theirs] = [await side(), await side()];
    const scrape = {
      global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
      scrape_configs: everyPlace.map((place) => ({
        job_name: `place-${place}`,
        metrics_path: `/${place}`,
        static_configs: [{ targets: [address] }],
      })),
    };
    const file = (name: string, text: string): string => {
      writeFileSync(path.join(folder, name), text);
      return path.join(folder, name);
    };
    const ruleFile = file("rules.yml", JSON.stringify(rules));
    const routed = file("alertmanager.yml", routing(ours.hook.url, ours.mail.port));
    const hub = await startHub({
      dataDir: path.join(folder, "data"),
      args: [
        `--prometheus-config=${file("prometheus.yml", JSON.stringify(scrape))}`,
        `--rules=${ruleFile}`,
        "--no-default-rules",
        "--evaluation-interval=1s",
        `--alertmanager-config=${routed}`,
      ],
    });
    stops.unshift(() => hub.stop());
    const alertmanager = await startAlertmanager(
      requiredTool("alertmanager"),
      routing(theirs.hook.url, theirs.mail.port),
    );
    stops.unshift(() => alertmanager.stop());
    const prometheus = await startPrometheus({
      path: requiredTool("prometheus"),
      logLevel: "warn",
      config: {
        ...scrape,
        rule_files: [ruleFile],
        alerting: {
          alertmanagers: [{ static_configs: [{ targets: [new URL(alertmanager.url).host] }] }],
        },
      },
    });
    stops.unshift(() => prometheus.stop());
    const all = [ours.hook, ours.mail, theirs.hook, theirs.mail];
    const cross = async (crossing: string, place: number): Promise<number> => {
      pages[place] += `bench_${place}{crossing="${crossing}"} 1\n`;
      const atMs = performance.now();
      await waitUntil({ what: `four notifications of ${crossing}`, timeoutMs: 60_000 }, async () =>
        all.every(({ heard }) => heard.has(crossing)) ? true : undefined,
      );
      return atMs;
    };
    await cross("warm-up", 0);
    for (let round = 0; round < rounds; round++) {
      if (round % 5 === 0) progress(`crossing ${round + 1} of ${rounds}`);
      await sleep(next() * 1_000);
      const crossing = `scraped-${round}`;
      const place = round % places;
      const atMs = await cross(crossing, place);
      const wait = ({ heard }: { heard: ReceiptTimes }): number =>
        (heard.get(crossing) ?? Number.NaN) - atMs;
      put("latency.webhook", wait(ours.hook), wait(theirs.hook));
      put("latency.email", wait(ours.mail), wait(theirs.mail));
      await sleep(next() * 1_000);
      const pushed = `pushed-${round}`;
      const pushedMs = performance.now();
      const answer = await fetch(`${hub.url}/write?db=bench`, {
        method: "POST",
        body: `bench_${place},crossing=${pushed} value=1\n`,
      });
      if (!answer.ok) throw new Error(`the hub refused a line: ${await answer.text()}`);
      await waitUntil({ what: `a notification of ${pushed}`, timeoutMs: 60_000 }, async () =>
        ours.hook.heard.has(pushed) ? true : undefined,
      );
      put("latency.pushed", (ours.hook.heard.get(pushed) ?? NaN) - pushedMs, wait(theirs.hook));
    }
  } finally {
    for (const stop of stops) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
