import { beforeEach, expect, test } from "vitest";
import { RuleTestHarness } from "../../../test/fixtures/alerting/rules.ts";

let bench: RuleTestHarness;
beforeEach(() => {
  bench = new RuleTestHarness();
});

test("a recording rule gives its name and labels, the group's labels too, and the rule's own win", async () => {
  const group = await bench.group(`
groups:
  - name: g
    labels: { team: infra, site: lab }
    rules:
      - { record: gpu:temp:max, expr: max by (host) (temp), labels: { team: gpu, host: "" } }
`);
  bench.set({ 'temp{gpu="0",host="a"}': 70, 'temp{gpu="1",host="a"}': 80 }, 0);
  await bench.evaluate(group, 0);
  expect(await bench.ask("gpu:temp:max", 0)).toEqual([
    '{__name__="gpu:temp:max", site="lab", team="gpu"} 80',
  ]);
});

test("rules are evaluated in their order: a later one sees what an earlier one has just recorded", async () => {
  const group = await bench.group(`
groups:
  - name: g
    rules:
      - { record: a, expr: temp + 1 }
      - { record: b, expr: a + 1 }
      - { alert: Big, expr: b > 10 }
`);
  bench.set({ temp: 9 }, 0);
  await bench.evaluate(group, 0);
  expect(await bench.ask("b", 0)).toEqual(['{__name__="b"} 11']);
  expect(group.runs[2]?.alerting?.state).toBe("firing");
});

test("what a rule no longer gives ends at once, and begins again", async () => {
  const group = await bench.group(`
groups:
  - name: g
    rules:
      - { record: hot, expr: temp > 80 }
      - { alert: Hot, expr: temp > 80, for: 1m }
`);
  bench.set({ 'temp{gpu="0"}': 90 }, 0);
  await bench.evaluate(group, 0);
  expect(await bench.ask('{__name__=~"hot|ALERTS.*"}', 0)).toEqual([
    '{__name__="ALERTS", alertname="Hot", alertstate="pending", gpu="0"} 1',
    '{__name__="ALERTS_FOR_STATE", alertname="Hot", gpu="0"} 1700000040',
    '{__name__="hot", gpu="0"} 90',
  ]);
  bench.set({ 'temp{gpu="0"}': 90 }, 1);
  await bench.evaluate(group, 1);
  expect(await bench.ask("ALERTS", 1)).toEqual([
    '{__name__="ALERTS", alertname="Hot", alertstate="firing", gpu="0"} 1',
  ]);
  bench.set({ 'temp{gpu="0"}': 70 }, 2);
  await bench.evaluate(group, 2);
  expect(await bench.ask('{__name__=~"hot|ALERTS.*"}', 2)).toEqual([]);
  bench.set({ 'temp{gpu="0"}': 85 }, 3);
  await bench.evaluate(group, 3);
  expect(await bench.ask("hot", 3)).toEqual(['{__name__="hot", gpu="0"} 85']);
});

test("query_offset looks back, and what it gives stands where it looked; templates ask at the evaluation itself", async () => {
  const group = await bench.group(`
groups:
  - name: g
    query_offset: 2m
    rules:
      - { record: past, expr: temp }
      - { alert: Hot, expr: temp > 80, annotations: { now: '{{ query "temp" | first | value }}' } }
`);
  bench.set({ temp: 90 }, 0);
  bench.set({ temp: 50 }, 2);
  await bench.evaluate(group, 2);
  expect(await bench.ask("past", 0)).toEqual(['{__name__="past"} 90']);
  expect(await bench.ask("timestamp(past)", 2)).toEqual(["{} 1700000040"]);
  expect(group.runs[1]?.alerting?.alerts[0]?.annotations).toEqual({ now: "50" });
});

test("a group without an offset of its own has the general one", async () => {
  bench.settings = { ...bench.settings, queryOffsetMs: 60_000 };
  const group = await bench.group("groups: [{ name: g, rules: [{ record: past, expr: temp }] }]");
  bench.set({ temp: 90 }, 0);
  bench.set({ temp: 50 }, 1);
  await bench.evaluate(group, 1);
  expect(await bench.ask("past", 0)).toEqual(['{__name__="past"} 90']);
});

test("the annotations of a rule's last evaluation stay with it", async () => {
  const group = await bench.group(`
groups:
  - name: g
    rules:
      - { record: late, expr: "quantile(2, temp)" }
      - { record: fast, expr: "rate(temp[2m])" }
`);
  bench.set({ 'temp{gpu="0"}': 1 }, 0);
  bench.set({ 'temp{gpu="0"}': 2 }, 1);
  await bench.evaluate(group, 1);
  const [late, fast] = group.runs;
  expect([late?.health, late?.warnings, late?.infos]).toEqual([
    "ok",
    ["PromQL warning: quantile value should be between 0 and 1, got 2 (1:10)"],
    [],
  ]);
  expect([fast?.warnings, fast?.infos]).toEqual([
    [],
    [
      'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "temp" (1:6)',
    ],
  ]);
});

test("a rule that fails says why, and the others go on", async () => {
  const group = await bench.group(`
groups:
  - name: g
    limit: 1
    rules:
      - { record: broken, expr: "temp * on(host) temp" }
      - { record: many, expr: temp }
      - { record: same, expr: temp, labels: { gpu: x } }
      - { record: fine, expr: max(temp) }
`);
  bench.set({ 'temp{gpu="0",host="a"}': 1, 'temp{gpu="1",host="a"}': 2 }, 0);
  await bench.evaluate(group, 0);
  expect(group.runs.map(({ health }) => health)).toEqual(["err", "err", "err", "ok"]);
  expect(group.runs[0]?.lastError).toMatch(/many-to-many/);
  expect(group.runs[1]?.lastError).toBe("exceeded limit of 1 with 2 series");
  expect(group.runs[2]?.lastError).toMatch(/same labelset after applying rule labels/);
  expect(await bench.ask('{__name__=~"many|same|fine"}', 0)).toEqual(['{__name__="fine"} 2']);
  expect([group.evaluations, group.failures]).toEqual([4, 3]);
});

test("two rules that give one series with different values: the second is refused with the reason", async () => {
  const group = await bench.group(`
groups:
  - name: g
    rules:
      - { record: same, expr: temp }
      - { record: same, expr: temp + 1 }
`);
  bench.set({ temp: 1 }, 0);
  await bench.evaluate(group, 0);
  expect(group.runs.map(({ health }) => health)).toEqual(["ok", "err"]);
  expect(await bench.ask("same", 0)).toEqual(['{__name__="same"} 1']);
});

test("a rule whose label template gave nothing has the template itself on ALERTS, as Prometheus does", async () => {
  const group = await bench.group(`
groups: [{ name: g, rules: [{ alert: A, expr: temp, labels: { x: '{{ "" }}' } }] }]
`);
  bench.set({ temp: 1 }, 0);
  await bench.evaluate(group, 0);
  expect(await bench.ask("ALERTS", 0)).toEqual([
    String.raw`{__name__="ALERTS", alertname="A", alertstate="firing", x="{{ \"\" }}"} 1`,
  ]);
});

test("a scalar is a vector of one without labels", async () => {
  const group = await bench.group("groups: [{ name: g, rules: [{ record: two, expr: 1 + 1 }] }]");
  await bench.evaluate(group, 0);
  expect(await bench.ask("two", 0)).toEqual(['{__name__="two"} 2']);
});
