// A hub evaluates a rule file like a real Prometheus with the same samples, reports it in the same format, and continues
// its state after it was killed or has reloaded its files.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, beforeEach, expect, test } from "vitest";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { launchHub, type RunningHub, startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { labelSet } from "../../src/model/labels.ts";

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-rules-hub-"));
  file = path.join(dir, "rules.yml");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const rules = `
groups:
  - name: second
    interval: 2s
    limit: 9
    rules:
      - { record: 'host:temp:max', expr: 'max by(host)(temp)', labels: { team: gpu } }
      - { record: broken, expr: 'temp * on(host) temp' }
  - name: first
    interval: 2s
    rules:
      - alert: Hot
        expr: temp>80
        labels: { severity: '{{ if gt $value 90.0 }}page{{ else }}info{{ end }}' }
        annotations: { text: 'GPU {{ $labels.gpu }} is at {{ $value }}', asked: '{{ with query "count(temp)" }}{{ . | first | value }}{{ end }}' }
      - { alert: Waits, expr: temp > 80, for: 1h, keep_firing_for: 5m }
      - { alert: Never, expr: temp > 1000 }
`;

const series = ["0", "1", "2"].map((gpu) => labelSet({ __name__: "temp", gpu, host: "a" }));
const values = [95, 85.25, 50];

class Feed {
  readonly #requests = new WriteRequests(series);
  readonly #clients: readonly WriteClient[];
  readonly #timer: NodeJS.Timeout;

  constructor(urls: readonly string[]) {
    this.#clients = urls.map((url) => new WriteClient(url));
    void this.#send();
    this.#timer = setInterval(() => void this.#send(), 1_000);
  }

  close(): void {
    clearInterval(this.#timer);
    for (const client of this.#clients) client.close();
  }

  async #send(): Promise<void> {
    const body = this.#requests.encode(
      0,
      series.length,
      [Date.now()],
      (index) => values[index] ?? 0,
    );
    // A server that is down misses one sample.
    await Promise.all(this.#clients.map((client) => client.send(body).catch(() => undefined)));
  }
}

const get = async (url: string, route: string): Promise<unknown> =>
  ((await (await fetch(`${url}${route}`)).json()) as { data: unknown }).data;

/** Removes what differs from run to run, and sorts lists for which Prometheus guarantees no order. */
function settled(data: unknown): unknown {
  if (Array.isArray(data))
    return data
      .map(settled)
      .sort((left, right) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1));
  if (typeof data !== "object" || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) => {
      if (["lastEvaluation", "activeAt"].includes(key)) {
        expect(Date.parse(String(value))).toBeGreaterThan(Date.now() - 120_000);
        return [];
      }
      if (key === "evaluationTime") return [];
      // Both errors contain the problem and the labels; the wording differs.
      if (key === "lastError") return [[key, String(value).includes("many-to-many")]];
      // Prometheus 2.42 omits empty labels of a recording rule, 3 does not.
      if (key === "labels" && Object.keys(value as object).length === 0) return [];
      return [[key, settled(value)]];
    }),
  );
}

test("the same rule file and samples give the same answers as a real Prometheus", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  writeFileSync(file, rules);
  const prometheus = await startPrometheus({
    path: program,
    config: { rule_files: [file] },
    logLevel: "warn",
  });
  const hub = await startHub({
    dataDir: path.join(dir, "data"),
    args: ["--rules", file, "--no-default-rules"],
  });
  const feed = new Feed([prometheus.url, hub.url]);
  try {
    await sleep(12_000);
    for (const route of ["/api/v1/rules", "/api/v1/alerts", "/api/v1/alertmanagers"]) {
      const [theirs, ours] = await Promise.all([get(prometheus.url, route), get(hub.url, route)]);
      expect(settled(ours), route).toEqual(settled(theirs));
    }
    for (const query of ["ALERTS", "count(ALERTS_FOR_STATE)", "host:temp:max"]) {
      const route = `/api/v1/query?query=${encodeURIComponent(query)}`;
      const [theirs, ours] = await Promise.all([get(prometheus.url, route), get(hub.url, route)]);
      const pairs = (data: unknown): unknown =>
        settled(
          (data as { result: { metric: unknown; value: unknown[] }[] }).result.map(
            ({ metric, value }) => ({ metric, value: value[1] }),
          ),
        );
      expect(pairs(ours), query).toEqual(pairs(theirs));
    }
  } finally {
    feed.close();
    await hub.stop();
    await prometheus.stop();
  }
});

const waits = (more: string): string =>
  `groups: [{ name: g, interval: 1s, rules: [{ alert: Waits, expr: temp > 80, for: 20s${more} }] }]`;

async function alertsOf({
  url,
}: RunningHub): Promise<{ state: string; activeAt: string; gpu: string }[]> {
  const { alerts } = (await get(url, "/api/v1/alerts")) as {
    alerts: { state: string; activeAt: string; labels: { gpu: string } }[];
  };
  return alerts.map(({ state, activeAt, labels }) => ({ state, activeAt, gpu: labels.gpu }));
}

test("a hub that is told to read its rules again, and one that was killed, go on with what was pending", async () => {
  writeFileSync(file, waits(""));
  const options = {
    dataDir: path.join(dir, "data"),
    port: await freePort(),
    args: ["--rules", file, "--no-default-rules"],
  };
  let hub = await startHub(options);
  const feed = new Feed([hub.url]);
  try {
    await sleep(7_000);
    const before = await alertsOf(hub);
    expect(before.map(({ state }) => state)).toEqual(["pending", "pending"]);
    writeFileSync(file, waits(", annotations: { a: b }"));
    expect((await fetch(`${hub.url}/-/reload`, { method: "POST" })).status).toBe(200);
    await sleep(2_500);
    expect(await alertsOf(hub)).toEqual(before);
    writeFileSync(file, "groups: [{ name: g, rules: [{ alert: Waits, expr: 'temp >' }] }]");
    process.kill(hub.process.pid, "SIGHUP");
    const refused = await fetch(`${hub.url}/-/reload`, { method: "POST" });
    expect(refused.status).toBe(500);
    expect(await refused.text()).toMatch(/rules\.yml:1:\d+: .*could not parse expression/);
    expect(await (await fetch(`${hub.url}/metrics`)).text()).toContain(
      "gpulse_config_last_reload_successful 0",
    );
    expect(await alertsOf(hub)).toEqual(before);
    writeFileSync(file, waits(""));
    await hub.kill();
    hub = await launchHub(options);
    await hub.ready(60_000);
    await sleep(5_000);
    const after = await alertsOf(hub);
    // Only the downtime is added to the start of the alert.
    for (const [at, { activeAt }] of after.entries()) {
      const shiftMs = Date.parse(activeAt) - Date.parse(before[at]?.activeAt ?? "");
      expect(shiftMs).toBeGreaterThanOrEqual(-1_000);
      expect(shiftMs).toBeLessThan(15_000);
    }
    expect(after).toHaveLength(2);
    await sleep(22_000);
    expect((await alertsOf(hub)).map(({ state }) => state)).toEqual(["firing", "firing"]);
  } finally {
    feed.close();
    await hub.stop();
  }
});

test("a hub does not start on a rule file that is wrong, and says where", async () => {
  writeFileSync(file, "groups: [{ name: g, rules: [{ alert: A, expr: 'up ==' }] }]");
  const hub = await launchHub({ dataDir: path.join(dir, "data"), args: ["--rules", file] });
  await hub.process.waitForExit();
  await expect
    .poll(() => hub.process.output())
    .toMatch(/rules\.yml:1:\d+: group "g", rule 1, "A": could not parse/);
});
