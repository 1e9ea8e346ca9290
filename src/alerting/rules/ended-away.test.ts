import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { type AlertFiles, openAlertState } from "../state.ts";
import { readMetric } from "../unit-tests/metric.ts";
import {
  alertsOf,
  minute,
  RuleTestHarness,
  startMs,
} from "../../../test/fixtures/alerting/rules.ts";

let dir: string;
let state: AlertFiles;
let bench: RuleTestHarness;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-ended-away-"));
  bench = new RuleTestHarness();
  open();
});
afterEach(async () => {
  await bench.engine.close();
  state.close();
  rmSync(dir, { recursive: true, force: true });
});

function open(): void {
  state = openAlertState(dir, silentLog);
  bench.firing = state.firing;
}

const file = (rule: string, interval = "30s"): string => `
groups:
  - { name: g, interval: ${interval}, rules: [{ alert: Hot, ${rule} }] }
`;
const hot = file("expr: temp > 80, annotations: { text: 'is {{ $value }}' }");

const nowMs = (): number => bench.clock.nowMs();
const alerts = (): string[] => bench.engine.groups.flatMap((group) => alertsOf(group));

/** Appends the value every 15 s for `forMs` from now on. */
function feed(series: string, value: number, forMs: number): void {
  for (let timeMs = nowMs(); timeMs <= nowMs() + forMs; timeMs += 15_000)
    bench.history.append(readMetric(series), timeMs, value);
}

/** `resolved 0` or `firing 0`, as sent since the last call. */
const sent = (): string[] =>
  bench.sent
    .splice(0)
    .map(
      ({ labels, endsAtMs = 0 }) =>
        `${endsAtMs <= nowMs() ? "resolved" : "firing"} ${labels.get("gpu") ?? ""}`,
    );

/** Stops as after a kill: nothing is reported and nothing resolved. */
async function away(rules: string, forMs: number): Promise<void> {
  await bench.engine.close();
  state.close();
  await bench.pass(forMs);
  sent();
  open();
  await bench.restart();
  await bench.load(rules);
}

async function firing(rules = hot): Promise<void> {
  await bench.restart();
  await bench.load(rules);
  await bench.pass(2 * minute);
  expect(sent()).toContain("firing 0");
}

test.for([0.5, 20])(
  "an alert that ended while nobody looked is reported as ended once its source has spoken, after %s minutes away",
  async (minutes) => {
    feed('temp{gpu="0"}', 90, 2 * minute);
    await firing();
    await away(hot, minutes * minute);
    feed('temp{gpu="0"}', 50, 10 * minute);
    await bench.pass(minute);
    expect(bench.sent).toHaveLength(1);
    expect(bench.sent[0]).toMatchObject({ annotations: { text: "is 90" } });
    expect(bench.sent[0]?.startsAtMs).toBeLessThan(startMs + minute);
    expect(sent()).toEqual(["resolved 0"]);
    expect(alerts()).toEqual(['inactive {gpu="0"} 90']);
    await away(hot, minute);
    await bench.pass(minute);
    expect(sent()).toEqual([]);
  },
);

test("what nobody has spoken of yet is not over: it goes on where it still fires when its source is back", async () => {
  feed('temp{gpu="0"}', 90, 2 * minute);
  feed('temp{gpu="1"}', 90, 2 * minute);
  await firing();
  await away(hot, 20 * minute);
  // The other source is back and below the threshold, which is no information about this one.
  feed('temp{gpu="1"}', 50, 10 * minute);
  await bench.pass(2 * minute);
  expect(new Set(sent())).toEqual(new Set(["resolved 1"]));
  feed('temp{gpu="0"}', 90, 10 * minute);
  await bench.pass(minute);
  const reported = sent();
  expect(reported).toContain("firing 0");
  expect(reported).not.toContain("resolved 0");
  expect(alerts()).toContain('firing {gpu="0"} 90');
});

test("what is never heard of again ends after as long as it was said to hold, and the router waits for that", async () => {
  feed('temp{gpu="0"}', 90, 2 * minute);
  await firing();
  await away(hot, 20 * minute);
  expect(bench.held).toHaveLength(1);
  expect(bench.held[0]?.endsAtMs).toBe(nowMs() + 5 * minute);
  await bench.pass(3.5 * minute);
  expect(sent()).toEqual([]);
  await bench.pass(minute);
  expect(sent()).toEqual(["resolved 0"]);
});

test("what a source still has to send from its spool is no word of now", async () => {
  feed('temp{gpu="0"}', 90, 2 * minute);
  await firing();
  const leftMs = nowMs();
  await away(hot, 20 * minute);
  for (let timeMs = leftMs; timeMs < leftMs + 10 * minute; timeMs += 15_000)
    bench.history.append(readMetric('temp{gpu="0"}'), timeMs + 1, 50);
  await bench.pass(2 * minute);
  expect(sent()).toEqual([]);
});

test.for([
  ["both sides", "temp > on () group_left () limit", "limit"],
  ["all that is summed up", "sum by (host) (temp) > 80", 'temp{gpu="0",host="a"}'],
  [
    "every series where the rule changes their labels",
    "label_replace(temp, 'gpu', 'n$1', 'gpu', '(.*)') > 80",
    'temp{gpu="1",host="a"}',
  ],
] as const)("%s must have spoken", async ([, expr, late]) => {
  const rules = file(`expr: "${expr}"`);
  const all = { 'temp{gpu="0",host="a"}': 90, 'temp{gpu="1",host="a"}': 0, limit: 80 };
  for (const [series, value] of Object.entries(all)) feed(series, value, 2 * minute);
  await bench.restart();
  await bench.load(rules);
  await bench.pass(2 * minute);
  expect(sent().length).toBeGreaterThan(0);
  await away(rules, 20 * minute);
  for (const series of Object.keys(all)) if (series !== late) feed(series, 0, 10 * minute);
  await bench.pass(2 * minute);
  expect(sent()).toEqual([]);
  feed(late, 0, 10 * minute);
  await bench.pass(minute);
  expect(sent()[0]).toMatch(/^resolved/);
});

test("a function over a time has had two samples before its silence says anything", async () => {
  const rules = file("expr: 'rate(errors[1m]) > 0'", "15s");
  for (let at = 0; at <= 8; at++)
    bench.history.append(readMetric('errors{gpu="0"}'), startMs + at * 15_000, at);
  await firing(rules);
  await away(rules, 20 * minute);
  bench.history.append(readMetric('errors{gpu="0"}'), nowMs() + 1, 100);
  await bench.pass(0.5 * minute);
  expect(sent()).toEqual([]);
  bench.history.append(readMetric('errors{gpu="0"}'), nowMs() + 1, 200);
  await bench.pass(0.5 * minute);
  expect(sent()).toEqual(["firing 0"]);
});

test("keep_firing_for counts from when it was found to be over", async () => {
  const rules = file("expr: temp > 80, keep_firing_for: 3m");
  feed('temp{gpu="0"}', 90, 2 * minute);
  await firing(rules);
  await away(rules, minute);
  feed('temp{gpu="0"}', 50, 20 * minute);
  await bench.pass(2.5 * minute);
  expect(new Set(sent())).toEqual(new Set(["firing 0"]));
  expect(alerts()).toEqual(['firing {gpu="0"} 90']);
  await bench.pass(2 * minute);
  expect(sent()).toContain("resolved 0");
});

test("one with `for` that is pending again and then ends is reported as ended", async () => {
  const rules = file("expr: temp > 80, for: 1m");
  feed('temp{gpu="0"}', 90, 3 * minute);
  await firing(rules);
  await away(rules, 0);
  await bench.pass(35_000);
  expect(alerts()).toEqual(['pending {gpu="0"} 90']);
  await bench.pass(25_000);
  feed('temp{gpu="0"}', 50, 10 * minute);
  await bench.pass(minute);
  expect(sent().at(-1)).toBe("resolved 0");
});

test("an end that was seen, and what a changed rule would be asked for, is not waited for", async () => {
  feed('temp{gpu="0"}', 90, 2 * minute);
  await firing();
  const other = file("expr: temp > 85");
  await away(other, 20 * minute);
  await bench.pass(10 * minute);
  expect([sent(), bench.held]).toEqual([[], []]);
  await away(hot, minute);
  expect(bench.held).toEqual([]);
});

test("an outage of hours is not taken for an end before its time", async () => {
  feed('temp{gpu="0"}', 90, 2 * minute);
  await firing();
  await away(hot, 120 * minute);
  feed('temp{gpu="0"}', 50, 10 * minute);
  await bench.pass(3 * minute);
  expect(sent()).toEqual([]);
  await bench.pass(2 * minute);
  expect(sent()).toEqual(["resolved 0"]);
});
