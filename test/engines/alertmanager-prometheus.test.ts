// A real Prometheus sends the same alerts to the built hub and a real Alertmanager, and a hub with the same rules sends
// its alerts to that Alertmanager as well. Every combination delivers the same groups and resolutions to the webhook.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { findTool } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import type { WebhookPayload } from "../../engines/webhook.ts";
import {
  type AlertmanagerPair,
  type Side,
  sides,
  startAlertmanagerPair,
} from "./alertmanager-pair.ts";

const found = [findTool("alertmanager"), findTool("prometheus")];
const missing = found.flatMap((tool) => ("missing" in tool ? [tool.missing] : []));
const [alertmanager = "", prometheus = ""] = found.map((tool) => ("path" in tool ? tool.path : ""));
const stops: (() => Promise<void>)[] = [];
let pair: AlertmanagerPair;
/** The target's GPU temperatures: more than 90 is hot. */
let celsius = [50, 50];

const rules = {
  groups: [
    {
      name: "g",
      interval: "1s",
      rules: [
        {
          alert: "Hot",
          expr: "gpu_test_celsius > 90",
          for: "1s",
          labels: { severity: "warning", gone: "by relabelling" },
          annotations: { summary: "GPU {{ $labels.gpu }} is at {{ $value }} °C" },
        },
        { alert: "Target", expr: "up == 1", labels: { severity: "info" } },
      ],
    },
  ],
};

function configOf(
  from: string,
  target: string,
  ruleFile: string,
  alertmanagers: readonly string[],
) {
  return {
    global: {
      scrape_interval: "1s",
      evaluation_interval: "1s",
      external_labels: { from, site: "lab" },
    },
    rule_files: [ruleFile],
    alerting: {
      alert_relabel_configs: [{ action: "labeldrop", regex: "gone|instance" }],
      alertmanagers: alertmanagers.map((address) => ({
        static_configs: [{ targets: [address.replace("http://", "")] }],
      })),
    },
    scrape_configs: [{ job_name: "gpus", static_configs: [{ targets: [target] }] }],
  };
}

beforeAll(async () => {
  if (missing.length > 0) return;
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-alerts-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  pair = await startAlertmanagerPair({
    alertmanager,
    config: (webhook) => `
route:
  receiver: all
  group_by: [from, alertname]
  group_wait: 3s
  group_interval: 2s
  routes: [{ matchers: [severity="info"], receiver: nobody }]
receivers: [{ name: all, webhook_configs: [{ url: '${webhook}' }] }, { name: nobody }]
`,
  });
  stops.push(() => pair.stop());
  const port = await freePort();
  const target = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4" });
    response.end(celsius.map((value, gpu) => `gpu_test_celsius{gpu="${gpu}"} ${value}\n`).join(""));
  }).listen(port, "127.0.0.1");
  stops.push(async () => void target.close());
  const ruleFile = path.join(folder, "rules.yml");
  await writeFile(ruleFile, JSON.stringify(rules));
  const address = `127.0.0.1:${port}`;
  const server = await startPrometheus({
    path: prometheus,
    config: configOf("prometheus", address, ruleFile, [pair.url("alertmanager"), pair.url("hub")]),
    args: ["--rules.alert.resend-delay=2s"],
    logLevel: "warn",
  });
  stops.push(() => server.stop());
  const hubConfig = path.join(folder, "prometheus.yml");
  await writeFile(hubConfig, JSON.stringify(configOf("hub", address, ruleFile, [])));
  const hub = await startHub({
    dataDir: path.join(folder, "data"),
    args: [
      `--prometheus-config=${hubConfig}`,
      `--alertmanager=${pair.url("alertmanager")}`,
      "--no-default-rules",
    ],
  });
  stops.push(() => hub.stop());
});

afterAll(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const of = (side: Side, from: string): readonly WebhookPayload[] =>
  pair.notifications(side).filter(({ groupLabels }) => groupLabels["from"] === from);
/**
 * Combinations of router and evaluator: alerts from Prometheus through the hub or Alertmanager, and the hub's through
 * Alertmanager.
 */
const ways = [
  ["hub", "prometheus"],
  ["alertmanager", "prometheus"],
  ["alertmanager", "hub"],
] as const;

/** Removes times and the label of the evaluator. */
function shape(payload: WebhookPayload | undefined): unknown {
  const text = JSON.stringify({
    ...payload,
    externalURL: "",
    alerts: payload?.alerts.map((alert) => ({
      ...alert,
      startsAt: "",
      endsAt: alert.status === "firing" ? alert.endsAt : "",
      generatorURL: "",
      fingerprint: "",
    })),
  });
  return JSON.parse(
    text
      .replaceAll('"prometheus"', '"WHO"')
      .replaceAll('"hub"', '"WHO"')
      .replaceAll(/\\"(prometheus|hub)\\"/g, '\\"WHO\\"'),
  );
}

async function eachNotified(count: number): Promise<void> {
  await waitUntil(
    { what: `every way to be notified ${count} times`, timeoutMs: 60_000 },
    async () => {
      const counts = ways.map(([side, from]) => of(side, from).length);
      return counts.every((reported) => reported >= count) ? true : undefined;
    },
  );
}

test("alerts arrive, are grouped, and their ends are reported, the same by every way", async (context) => {
  if (missing.length > 0) context.skip(missing.join("; "));
  // Waits for a first scrape and evaluation, so that both GPUs become hot in the same evaluation.
  await waitUntil({ what: "the first evaluations", timeoutMs: 60_000 }, async () => {
    for (const side of sides) {
      const response = await fetch(`${pair.url(side)}/api/v2/alerts?filter=alertname%3DTarget`);
      const alerts = (await response.json()) as { labels: { from: string } }[];
      const from = new Set(alerts.map(({ labels }) => labels.from));
      if (!from.has("prometheus") || (side === "alertmanager" && !from.has("hub")))
        return undefined;
    }
    return true;
  });
  celsius = [95, 99.5];
  await eachNotified(1);
  const [first, ...others] = ways.map(([side, from]) => shape(of(side, from)[0]));
  expect(first).toMatchObject({
    status: "firing",
    groupKey: '{}:{alertname="Hot", from="WHO"}',
    commonLabels: { alertname: "Hot", from: "WHO", job: "gpus", severity: "warning", site: "lab" },
    alerts: [
      { labels: { gpu: "0" }, annotations: { summary: "GPU 0 is at 95 °C" } },
      { labels: { gpu: "1" }, annotations: { summary: "GPU 1 is at 99.5 °C" } },
    ],
  });
  for (const other of others) expect(other).toEqual(first);
  celsius = [50, 50];
  await eachNotified(2);
  const [ended, ...more] = ways.map(([side, from]) => shape(of(side, from)[1]));
  expect(ended).toMatchObject({
    status: "resolved",
    alerts: [{ status: "resolved" }, { status: "resolved" }],
  });
  for (const other of more) expect(other).toEqual(ended);
  expect(ways.map(([side, from]) => of(side, from).length)).toEqual([2, 2, 2]);
});
