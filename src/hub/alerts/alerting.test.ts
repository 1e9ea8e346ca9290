import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import Fastify from "fastify";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SelfFrames } from "../../model/self-frames.ts";
import type { PostableAlert } from "../../alerting/alert.ts";
import { PageWriter } from "../../formats/prometheus/page.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { silentLog } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import { compileRule, type RelabelRule } from "../../formats/relabel/rule.ts";
import { addApi } from "../api/api.ts";
import { type EmbeddedStorage, openStorage } from "../storage.ts";
import { AlertingEngine } from "./alerting.ts";
import { loadRules } from "./rule-files.ts";
import type { AlertSink } from "./sink.ts";

const startMs = Date.UTC(2026, 0, 1);
let dir: string;
let clock: FakeClock;
let storage: EmbeddedStorage;
let alerting: AlertingEngine | undefined;
let reported: PostableAlert[];
let relabelRules: RelabelRule[];
let sinkProblem: Error | undefined;

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-alerting-"));
  clock = new FakeClock(startMs);
  reported = [];
  relabelRules = [];
  sinkProblem = undefined;
  const nowMs = (): number => clock.nowMs();
  storage = await openStorage({
    dir: path.join(dir, "data"),
    retentionMs: 86_400_000,
    log: silentLog,
    nowMs,
    version: "test",
  });
});
afterEach(async () => {
  await alerting?.close();
  alerting = undefined;
  await storage.close();
  rmSync(dir, { recursive: true, force: true });
});

const rulesFile = (): string => path.join(dir, "rules.yml");

async function open(rules: string, pack = false): Promise<AlertingEngine> {
  writeFileSync(rulesFile(), rules);
  const sink: AlertSink = {
    put: (alerts) => {
      reported.push(...alerts);
      return 0;
    },
    alertmanagers: { active: ["http://am:9093/api/v2/alerts"], dropped: [] },
    problems: () => [],
    selfMetrics: () => {},
    reload: async () => {
      if (sinkProblem !== undefined) throw sinkProblem;
    },
    close: async () => {},
  };
  const plan = async () => ({
    groups: (await loadRules([path.join(dir, "*.yml")], pack)).groups,
    settings: {
      externalLabels: new Map([["site", "lab"]]),
      externalUrl: "http://hub",
      queryOffsetMs: 0,
      intervalMs: 15_000,
    },
    alertRelabelRules: relabelRules,
  });
  alerting = await AlertingEngine.open(
    { history: storage.history, writer: storage.history, sink, plan, clock, log: silentLog },
    await plan(),
  );
  return alerting;
}

async function put(values: Readonly<Record<string, number>>): Promise<void> {
  const builder = new BatchBuilder();
  for (const [gpu, value] of Object.entries(values))
    builder.add(builder.series(labelSet({ __name__: "temp", gpu })), clock.nowMs(), value);
  await storage.history.write(builder.finish());
}

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1_000);
    for (let turn = 0; turn < 3; turn++) await setImmediate();
  }
}

async function api(): Promise<(url: string) => Promise<{ status: number; body: never }>> {
  const app: FastifyInstance = Fastify();
  await addApi(app, { ...storage.api, ...(alerting === undefined ? {} : { alerting }) });
  return async (url) => {
    const { statusCode, body } = await app.inject(url);
    return { status: statusCode, body: JSON.parse(body) as never };
  };
}

const hot =
  "groups: [{ name: g, rules: [{ alert: Hot, expr: temp > 80, for: 30s, labels: { severity: page }, annotations: { text: 'GPU {{ $labels.gpu }}' } }] }]";

test("what fires reaches the sink with the external labels, relabelled, and ends", async () => {
  relabelRules = [
    compileRule({
      action: "replace",
      source_labels: ["severity"],
      target_label: "urgency",
    }),
    compileRule({ action: "drop", source_labels: ["gpu"], regex: "1" }),
  ];
  await open(hot);
  for (let round = 0; round < 6; round++) {
    await put({ "0": 90, "1": 95 });
    await pass(15);
  }
  expect(reported.map(({ labels }) => Object.fromEntries(labels))[0]).toEqual({
    alertname: "Hot",
    gpu: "0",
    severity: "page",
    urgency: "page",
    site: "lab",
  });
  expect(reported.every(({ labels }) => labels.get("gpu") === "0")).toBe(true);
  reported.length = 0;
  await put({ "0": 50, "1": 50 });
  await pass(20);
  expect(reported).toHaveLength(1);
  expect(reported[0]?.endsAtMs ?? Infinity).toBeLessThanOrEqual(clock.nowMs());
});

test("a reload takes a changed file up and keeps what is active; a bad file, or a bad routing, keeps the one before and says why", async () => {
  const running = await open(hot);
  await put({ "0": 90 });
  await pass(20);
  expect(running.groups[0]?.runs[0]?.alerting?.state).toBe("pending");
  writeFileSync(rulesFile(), "groups: [{ name: g, rules: [{ alert: Hot, expr: 'temp >' }] }]");
  await expect(running.reload()).rejects.toThrow(/rules\.yml:1:\d+: .*could not parse expression/);
  expect(running.loaded.ok).toBe(false);
  expect(running.groups[0]?.runs[0]?.alerting?.state).toBe("pending");
  writeFileSync(rulesFile(), hot.replace("temp > 80", "temp > 70"));
  sinkProblem = new Error("the routing is wrong");
  await expect(running.reload()).rejects.toThrow("the routing is wrong");
  expect(running.groups[0]?.runs[0]?.rule.expr).toBe("temp > 80");
  sinkProblem = undefined;
  await running.reload();
  expect(running.loaded).toEqual({ ok: true, timeMs: clock.nowMs() });
  expect(running.groups[0]?.runs[0]).toMatchObject({ rule: { expr: "temp > 70" } });
  expect(running.groups[0]?.runs[0]?.alerting?.state).toBe("pending");
});

test("the default rules give nothing on a hub without data: not one series", async () => {
  const running = await open("groups: []", true);
  expect(running.groups.length).toBeGreaterThan(5);
  await pass(130);
  expect(
    running.groups.every(({ evaluations, failures }) => evaluations > 0 && failures === 0),
  ).toBe(true);
  expect(storage.store.stats().series).toBe(0);
  expect(reported).toEqual([]);
});

test("the hub's page reports on groups, alerts and the last reload", async () => {
  const running = await open(hot);
  await put({ "0": 90 });
  await pass(16);
  const page = new PageWriter("text").write([new SelfFrames().at(0, [running.selfMetrics])]);
  expect(page).toContain("gpulse_config_last_reload_successful 1");
  expect(page).toContain('gpulse_rule_alerts{state="pending"} 1');
  expect(page).toMatch(/gpulse_rule_evaluations_total\{rule_group="[^"]*rules\.yml;g"\} [12]\n/);
});

test("rules are reported in Prometheus's shape", async () => {
  await open(`
groups:
  - { name: b, limit: 3, interval: 1m, rules: [{ record: 'r:x', expr: 'sum(temp)', labels: { z: '1', a: '2' } }, { record: bad, expr: 'temp * on(x) temp' }] }
  - { name: a, rules: [{ alert: Hot, expr: temp>80, for: 30s, keep_firing_for: 1m, labels: { severity: page }, annotations: { text: 'GPU {{ $labels.gpu }}' } }] }
`);
  await put({ "0": 90.5, "1": 95 });
  await pass(61);
  const get = await api();
  const time = expect.stringMatching(/^2026-01-01T00:0[01]:\d\d(\.\d+)?Z$/) as string;
  const took = expect.any(Number) as number;
  const alert = (gpu: string, value: string) => ({
    labels: { alertname: "Hot", gpu, severity: "page" },
    annotations: { text: `GPU ${gpu}` },
    state: expect.stringMatching(/pending|firing/) as string,
    activeAt: time,
    value,
  });
  const { body } = await get("/api/v1/rules");
  expect(body).toEqual({
    status: "success",
    data: {
      groups: [
        {
          name: "a",
          file: rulesFile(),
          rules: [
            {
              state: expect.stringMatching(/pending|firing/) as string,
              name: "Hot",
              query: "temp > 80",
              duration: 30,
              keepFiringFor: 60,
              labels: { severity: "page" },
              annotations: { text: "GPU {{ $labels.gpu }}" },
              alerts: [alert("0", "9.05e+01"), alert("1", "9.5e+01")],
              health: "ok",
              evaluationTime: took,
              lastEvaluation: time,
              type: "alerting",
            },
          ],
          interval: 15,
          limit: 0,
          evaluationTime: took,
          lastEvaluation: time,
        },
        {
          name: "b",
          file: rulesFile(),
          rules: [
            {
              name: "r:x",
              query: "sum(temp)",
              labels: { a: "2", z: "1" },
              health: "ok",
              evaluationTime: took,
              lastEvaluation: time,
              type: "recording",
            },
            {
              name: "bad",
              query: "temp * on (x) temp",
              labels: {},
              health: "err",
              lastError: expect.stringContaining("many-to-many") as string,
              evaluationTime: took,
              lastEvaluation: time,
              type: "recording",
            },
          ],
          interval: 60,
          limit: 3,
          evaluationTime: took,
          lastEvaluation: time,
        },
      ],
    },
  });
  expect((await get("/api/v1/alerts")).body).toEqual({
    status: "success",
    data: { alerts: [alert("0", "9.05e+01"), alert("1", "9.5e+01")] },
  });
  expect((await get("/api/v1/alertmanagers")).body).toEqual({
    status: "success",
    data: {
      activeAlertmanagers: [{ url: "http://am:9093/api/v2/alerts" }],
      droppedAlertmanagers: [],
    },
  });
});

test("rules are filtered and reported page by page", async () => {
  await open(
    "groups: [{ name: a, rules: [{ alert: A, expr: '1', labels: { t: x } }, { record: r, expr: '1' }] }, { name: b, rules: [{ alert: B, expr: '1' }] }, { name: c, rules: [{ record: r, expr: '2', labels: { c: c } }] }]",
  );
  const get = await api();
  const names = async (query: string): Promise<string> => {
    const { status, body } = (await get(`/api/v1/rules?${query}`)) as {
      status: number;
      body: { data?: { groups: { name: string; rules: { name: string; alerts?: unknown }[] }[] } };
    };
    if (body.data === undefined) return String(status);
    return body.data.groups
      .map(({ name, rules }) => `${name}:${rules.map((rule) => rule.name).join("+")}`)
      .join(" ");
  };
  expect(await names("")).toBe("a:A+r b:B c:r");
  expect(await names("type=alert")).toBe("a:A b:B");
  expect(await names("type=record")).toBe("a:r c:r");
  expect(await names("type=other")).toBe("400");
  expect(await names("rule_name[]=r&rule_name[]=B")).toBe("a:r b:B c:r");
  expect(await names("rule_group[]=b")).toBe("b:B");
  expect(await names("file[]=nowhere")).toBe("");
  expect(await names('match[]={t="x"}')).toBe("a:A");
  expect(await names("group_limit=0")).toBe("400");
  expect(await names("group_next_token=x")).toBe("400");
  expect(await names("group_limit=1&group_next_token=x")).toBe("400");
  expect(await names("exclude_alerts=perhaps")).toBe("400");
  const first = (await get("/api/v1/rules?group_limit=2")).body as {
    data: { groups: unknown[]; groupNextToken: string };
  };
  expect(first.data.groups).toHaveLength(2);
  expect(await names(`group_limit=2&group_next_token=${first.data.groupNextToken}`)).toBe("c:r");
  const without = (await get("/api/v1/rules?exclude_alerts=true&type=alert")).body as {
    data: { groups: { rules: { alerts: unknown }[] }[] };
  };
  expect(without.data.groups[0]?.rules[0]?.alerts).toBeNull();
});

test("a backtest over HTTP reports a loaded rule's firings, or an expression's, and refuses what it cannot do", async () => {
  await open(hot);
  for (let round = 0; round < 20; round++) {
    await put({ "0": round >= 4 && round < 10 ? 90 : 50 });
    await pass(15);
  }
  const get = await api();
  const ask = async (query: string): Promise<unknown> => {
    const { status, body } = (await get(`/api/rules/backtest?${query}`)) as {
      status: number;
      body: { data?: { totals: unknown; firings: { peak: number }[] } };
    };
    return body.data === undefined
      ? status
      : [body.data.totals, body.data.firings.map(({ peak }) => peak)];
  };
  expect(await ask("rule=Hot&since=10m&step=15s")).toEqual([
    { firings: 1, labelSets: 1, firingSeconds: 60, longestSeconds: 60, pendingOnly: 0 },
    [90],
  ]);
  expect(await ask("expr=temp%20%3C%2060&for=1m&since=10m&step=15s")).toMatchObject([
    { firings: 1, pendingOnly: 1 },
    [50],
  ]);
  for (const bad of [
    "",
    "rule=Cold",
    "rule=Hot&expr=up",
    "expr=up%20%3E",
    "rule=Hot&since=2y",
    "rule=Hot&step=1ms",
    "rule=Hot&since=365d&step=1s",
  ])
    expect(await ask(bad), bad).toBe(400);
});
