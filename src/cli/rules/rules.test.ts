import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import Fastify from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { addApi } from "../../hub/api/api.ts";
import { openStorage } from "../../hub/storage.ts";
import { silentLog } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import { runRulesBacktest } from "./backtest.ts";
import { runRulesCheck } from "./check.ts";
import { runRulesTest } from "./test.ts";

let dir: string;
let output: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-cli-rules-"));
  output = "";
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const stream = (): Writable =>
  new Writable({
    write(chunk, _encoding, done) {
      output += String(chunk);
      done();
    },
  });
const io = () => ({
  env: {},
  stdout: stream(),
  stderr: stream(),
  version: "test",
  stopped: () => new Promise<string>(() => {}),
});

function file(name: string, text: string): string {
  const full = path.join(dir, name);
  writeFileSync(full, text);
  return full;
}

const rules =
  "groups: [{ name: g, rules: [{ alert: Hot, expr: temp > 80, for: 1m, annotations: { text: 'GPU {{ $labels.gpu }}' } }, { record: r, expr: temp }] }]";

test("check counts the rules of a good file, reports every mistake of a bad one, and exits with 0 or 2", async () => {
  const good = file("good.yml", rules);
  expect(await runRulesCheck([good], {}, io())).toBe(0);
  expect(output).toBe(`${good} is valid: 1 group, 1 alert, 1 recording rule.\n`);
  output = "";
  const bad = file(
    "bad.yml",
    "groups: [{ name: g, rules: [{ alert: A, expr: 'up ==' }, { record: b, expr: 'sum(' }] }]",
  );
  expect(await runRulesCheck([good, bad, path.join(dir, "nowhere.yml")], {}, io())).toBe(2);
  expect(output.match(/bad\.yml:1:\d+: group "g", rule [12]/g)).toHaveLength(2);
  expect(output).toContain("nowhere.yml: cannot be read");
  output = "";
  expect(await runRulesCheck([bad], { json: true }, io())).toBe(2);
  expect(JSON.parse(output)).toMatchObject({
    valid: false,
    files: [{ file: bad, problems: [expect.any(String), expect.any(String)] }],
  });
});

const tests = (label: string): string =>
  `rule_files: [rules.yml]\ntests: [{ name: 'a <b>', interval: 1m, input_series: [{ series: 'temp{gpu="0"}', values: 90x5 }], alert_rule_test: [{ eval_time: 2m, alertname: Hot, exp_alerts: [{ exp_labels: { gpu: '${label}' }, exp_annotations: { text: GPU 0 } }] }] }]`;

test("a test that fails says what differs, line by line, and exits with 0, 1 or 2", async () => {
  file("rules.yml", rules);
  const good = file("good.test.yml", tests("0"));
  expect(await runRulesTest([good], {}, io())).toBe(0);
  expect(output).toContain("  ok    a <b> (1 check)\n  all pass\n");
  output = "";
  const bad = file("bad.test.yml", tests("1"));
  const junit = path.join(dir, "junit.xml");
  expect(await runRulesTest([good, bad], { junit }, io())).toBe(1);
  expect(output).toContain(
    [
      "  FAIL  a <b> (1 check)",
      "        alert Hot at 2m: expected 1 alert, got 1 alert",
      '          - {alertname="Hot", gpu="1"} annotations {text="GPU 0"}',
      '          + {alertname="Hot", gpu="0"} annotations {text="GPU 0"}',
    ].join("\n"),
  );
  const xml = readFileSync(junit, "utf8");
  expect(xml).toContain('tests="1" failures="1" errors="0"');
  expect(xml).toContain('<testcase name="a &lt;b&gt;">');
  output = "";
  expect(await runRulesTest([file("broken.test.yml", "tests: {")], {}, io())).toBe(2);
  output = "";
  expect(await runRulesTest([bad], { json: true }, io())).toBe(1);
  expect(JSON.parse(output)).toMatchObject({
    ok: false,
    files: [{ tests: [{ name: "a <b>", failures: [{ what: "alert Hot at 2m" }] }] }],
  });
  await expect(runRulesTest([good], { run: "(" }, io())).rejects.toThrow(
    "--run must be a regular expression",
  );
});

test("backtest queries a hub's history, reports when the rule would have fired, and refuses what it cannot do", async () => {
  const nowMs = Math.floor(Date.now() / 60_000) * 60_000;
  const storage = await openStorage({
    dir: path.join(dir, "data"),
    retentionMs: 86_400_000,
    log: silentLog,
    nowMs: Date.now,
    version: "test",
  });
  const builder = new BatchBuilder();
  const series = builder.series(labelSet({ __name__: "temp", gpu: "0" }));
  for (let minute = 60; minute >= 0; minute--)
    builder.add(
      series,
      nowMs - minute * 60_000,
      minute > 20 && minute <= 30 ? 90 + minute / 10 : 50,
    );
  await storage.history.write(builder.finish());
  const app = Fastify();
  await addApi(app, storage.api);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const ruleFile = file("rules.yml", rules);
  try {
    expect(await runRulesBacktest(ruleFile, { url, since: "50m", step: "1m" }, io())).toBe(0);
    expect(output).toMatch(/Hot \(group g, for 1m\): .* every 1m\n/);
    expect(output).toMatch(/START +END +LASTED +PEAK +LABELS\n +\S+Z +\S+Z +9m +92\.9 +gpu=0\n/);
    expect(output).toContain("1 firing of 1 label set, 9m in all, the longest 9m.");
    output = "";
    expect(await runRulesBacktest(ruleFile, { url, since: "50m", json: true }, io())).toBe(0);
    expect(JSON.parse(output)).toMatchObject([
      {
        rule: "Hot",
        stepSeconds: 15,
        totals: { firings: 1 },
        firings: [{ labels: { gpu: "0" }, annotations: { text: "GPU 0" } }],
      },
    ]);
    output = "";
    expect(await runRulesBacktest(ruleFile, { url, since: "15m" }, io())).toBe(0);
    expect(output).toContain("would not have fired");
    await expect(runRulesBacktest(ruleFile, { url, rule: "Cold" }, io())).rejects.toThrow(
      'no alert named "Cold": there is Hot',
    );
    await expect(runRulesBacktest(ruleFile, { url, since: "soon" }, io())).rejects.toThrow(
      "--since must be a duration",
    );
    await expect(
      runRulesBacktest(ruleFile, { url, since: "1y", step: "1s" }, io()),
    ).rejects.toThrow("more than 60,000 steps");
  } finally {
    await app.close();
    await storage.close();
  }
});
