import { afterEach, beforeEach, expect, test } from "vitest";
import { readMetric } from "../unit-tests/metric.ts";
import {
  alertsOf,
  minute,
  RuleTestHarness,
  startMs,
} from "../../../test/fixtures/alerting/rules.ts";

let bench: RuleTestHarness;
beforeEach(() => {
  bench = new RuleTestHarness();
});
afterEach(() => bench.engine.close());

const file = (rules: string, more = ""): string => `
groups:
  - name: g
    interval: 30s
    ${more}
    rules:
${rules.replaceAll(/^/gm, "      ")}
`;

/** Appends the value every 15 s for `forMs` from now on. */
function feed(series: string, value: number, forMs: number): void {
  const fromMs = bench.clock.nowMs();
  for (let timeMs = fromMs; timeMs <= fromMs + forMs; timeMs += 15_000)
    bench.history.append(readMetric(series), timeMs, value);
}

const alerts = (): string[] => bench.engine.groups.flatMap((group) => alertsOf(group));
const activeMinutes = (): (number | undefined)[] =>
  bench.engine.groups.flatMap(({ runs }) =>
    runs.flatMap(({ alerting }) =>
      (alerting?.active ?? []).map(({ activeAtMs }) => Math.round((activeAtMs - startMs) / minute)),
    ),
  );

test("groups are evaluated once an interval, at the same instants after every start", async () => {
  await bench.load(file("- { record: r, expr: vector(1) }"));
  await bench.pass(5 * minute);
  const [first] = bench.engine.groups;
  expect(first?.evaluations).toBe(10);
  const phase = (first?.lastEvaluationMs ?? 0) % 30_000;
  await bench.restart();
  await bench.load(file("- { record: r, expr: vector(1) }"));
  await bench.pass(minute);
  expect((bench.engine.groups[0]?.lastEvaluationMs ?? 0) % 30_000).toBe(phase);
});

test("evaluations that could not be held in time are counted, not made up for", async () => {
  await bench.load(file("- { record: r, expr: vector(1) }"));
  await bench.pass(minute);
  const before = bench.engine.groups[0]?.evaluations ?? 0;
  bench.clock.stall(5 * minute);
  await bench.pass(minute);
  const [group] = bench.engine.groups;
  // Twelve were due: the late one, the one before now, and two on time were evaluated.
  expect(group?.missed).toBe(8);
  expect((group?.evaluations ?? 0) - before).toBe(4);
});

test("a clock that is set back does not stop the rules", async () => {
  await bench.load(file("- { record: r, expr: vector(1) }"));
  await bench.pass(minute);
  const before = bench.engine.groups[0]?.evaluations ?? 0;
  bench.skewMs = -60 * minute;
  await bench.pass(61 * minute);
  expect(bench.engine.groups[0]?.evaluations ?? 0).toBeGreaterThan(before + 100);
});

test("a reload keeps what is active: timers, and what was sent", async () => {
  feed('temp{gpu="0"}', 90, 20 * minute);
  await bench.load(file("- { alert: Hot, expr: temp > 80, for: 5m }"));
  await bench.pass(3 * minute);
  expect(alerts()).toEqual(['pending {gpu="0"} 90']);
  await bench.load(
    file("- { alert: New, expr: temp > 99 }\n- { alert: Hot, expr: temp > 85, for: 5m }"),
  );
  await bench.pass(3 * minute);
  expect(bench.engine.groups.flatMap((group) => alertsOf(group, 1))).toEqual([
    'firing {gpu="0"} 90',
  ]);
  expect(await bench.ask('ALERTS{alertname="Hot"}', 6)).toEqual([
    '{__name__="ALERTS", alertname="Hot", alertstate="firing", gpu="0"} 1',
  ]);
});

test("a rule that a reload brings writes its state at once", async () => {
  feed('temp{gpu="0"}', 90, 20 * minute);
  await bench.load(file("- { record: r, expr: vector(1) }"));
  await bench.pass(3 * minute);
  await bench.load(file("- { record: r, expr: vector(1) }\n- { alert: Hot, expr: temp > 80 }"));
  await bench.pass(minute);
  expect(await bench.ask("ALERTS_FOR_STATE", 4)).toHaveLength(1);
});

test("a group that stays as it is goes on undisturbed, its health too", async () => {
  await bench.load(file("- { record: r, expr: vector(1) }"));
  await bench.pass(minute);
  const [group] = bench.engine.groups;
  await bench.load(`${file("- { record: r, expr: vector(1) }")}  - { name: more, rules: [] }`);
  expect(bench.engine.groups[0]).toBe(group);
  expect(bench.engine.groups).toHaveLength(2);
  bench.settings = { ...bench.settings, externalUrl: "http://other" };
  await bench.load(file("- { record: r, expr: vector(1) }"));
  expect(bench.engine.groups[0]).not.toBe(group);
});

test("where `for` becomes longer than it has been active, what fires is pending again", async () => {
  feed('temp{gpu="0"}', 90, 30 * minute);
  await bench.load(file("- { alert: Hot, expr: temp > 80, for: 1m }"));
  await bench.pass(3 * minute);
  expect(alerts()).toEqual(['firing {gpu="0"} 90']);
  await bench.load(file("- { alert: Hot, expr: temp > 80, for: 10m }"));
  await bench.pass(minute);
  expect(alerts()).toEqual(['pending {gpu="0"} 90']);
});

test("series of a rule that a reload takes away end; what another rule now gives does not", async () => {
  feed('temp{gpu="0"}', 90, 20 * minute);
  await bench.load(
    file("- { record: gone, expr: temp }\n- { record: moved, expr: temp, labels: { x: '1' } }"),
  );
  await bench.pass(2 * minute);
  await bench.load(
    file("- { record: moved, expr: temp + 0, labels: { x: '1' } }\n- { record: new, expr: temp }"),
  );
  await bench.pass(minute);
  expect(await bench.ask('{__name__=~"gone|moved|new"}', 3)).toEqual([
    '{__name__="moved", gpu="0", x="1"} 90',
    '{__name__="new", gpu="0"} 90',
  ]);
  await bench.load("groups: []");
  expect(await bench.ask('{__name__=~"gone|moved|new"}', 3)).toEqual([]);
  expect(bench.engine.groups).toEqual([]);
});

test("after a restart what was pending goes on: the time away does not count", async () => {
  feed('temp{gpu="0"}', 90, 4 * minute);
  await bench.load(file("- { alert: Hot, expr: temp > 80, for: 10m }"));
  await bench.pass(4 * minute);
  const [since] = activeMinutes();
  expect(since).toBe(0);
  await bench.engine.close();
  await bench.pass(20 * minute);
  feed('temp{gpu="0"}', 90, 20 * minute);
  await bench.restart();
  await bench.load(file("- { alert: Hot, expr: temp > 80, for: 10m }"));
  await bench.pass(3 * minute);
  // Down for 20 minutes, with less than half a minute of error in either direction.
  expect(activeMinutes()[0]).toBeGreaterThanOrEqual(20);
  expect(activeMinutes()[0]).toBeLessThanOrEqual(22);
  expect(alerts()).toEqual(['pending {gpu="0"} 90']);
  await bench.pass(5 * minute);
  expect(alerts()).toEqual(['firing {gpu="0"} 90']);
});

test("after a restart what fired fires again as soon as it is known, and nothing wrong is written before", async () => {
  feed('temp{gpu="0"}', 90, 20 * minute);
  const rules = file(
    "- { alert: Hot, expr: temp > 80, for: 5m, labels: { host: 'h{{ $labels.gpu }}', team: gpu } }",
  );
  await bench.load(rules);
  await bench.pass(8 * minute);
  await bench.restart();
  await bench.load(rules);
  await bench.pass(45_000);
  expect(alerts()).toEqual(['pending {gpu="0", host="h0", team="gpu"} 90']);
  expect(await bench.ask('ALERTS{alertstate="pending"}', 9)).toEqual([]);
  await bench.pass(minute);
  expect(alerts()).toEqual(['firing {gpu="0", host="h0", team="gpu"} 90']);
  expect(activeMinutes()).toEqual([0]);
});

test("what had ended before a restart, or is longer ago than an hour, begins again", async () => {
  feed('temp{gpu="0"}', 90, 4 * minute);
  await bench.load(file("- { alert: Hot, expr: temp > 80, for: 10m }"));
  await bench.pass(4 * minute);
  feed('temp{gpu="0"}', 50, 2 * minute);
  await bench.pass(2 * minute);
  await bench.engine.close();
  await bench.pass(4 * minute);
  feed('temp{gpu="0"}', 90, 20 * minute);
  await bench.restart();
  await bench.load(file("- { alert: Hot, expr: temp > 80, for: 10m }"));
  await bench.pass(4 * minute);
  expect(activeMinutes()).toEqual([10]);
});
