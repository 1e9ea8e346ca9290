import { beforeEach, expect, test } from "vitest";
import {
  alertsOf,
  minute,
  RuleTestHarness,
  startMs,
} from "../../../test/fixtures/alerting/rules.ts";
import type { RuleGroupRunner } from "./group.ts";

let bench: RuleTestHarness;
beforeEach(() => {
  bench = new RuleTestHarness();
});

const rule = (text: string, group = ""): string => `
groups:
  - name: g
${group}
    rules:
      - ${text.trim().replaceAll("\n", "\n        ")}
`;

/** Evaluates one GPU's values, one per minute, and returns the state after every evaluation; "." is inactive, "" is missing. */
async function states(
  group: RuleGroupRunner,
  values: readonly (number | undefined)[],
): Promise<string> {
  const marks: string[] = [];
  for (const [at, value] of values.entries()) {
    if (value !== undefined) bench.set({ 'temp{gpu="0"}': value }, at);
    await bench.evaluate(group, at);
    const [alert] = group.runs[0]?.alerting?.alerts ?? [];
    marks.push(
      alert === undefined ? "_" : { pending: "p", firing: "F", inactive: "." }[alert.state],
    );
  }
  return marks.join("");
}

const hot = "alert: Hot\nexpr: temp > 80";

test.each([
  ["fires at once without for", hot, [70, 90, 90, 70, 70], "_FF.."],
  ["waits for its time, counted from the first", `${hot}\nfor: 2m`, [90, 90, 90, 90, 70], "ppFF."],
  ["starts again after a gap", `${hot}\nfor: 2m`, [90, 90, 70, 90, 90, 90], "pp_ppF"],
  ["is forgotten where it never fired", `${hot}\nfor: 9m`, [90, 90, 70, 70], "pp__"],
  ["fires on for keep_firing_for", `${hot}\nkeep_firing_for: 2m`, [90, 70, 70, 70, 70], "FFF.."],
  [
    "has that time again when it comes back",
    `${hot}\nkeep_firing_for: 2m`,
    [90, 70, 90, 70, 70, 70],
    "FFFFF.",
  ],
  [
    "keep_firing_for is nothing to what is pending",
    `${hot}\nfor: 5m\nkeep_firing_for: 5m`,
    [90, 90, 70],
    "pp_",
  ],
  ["comes back as a new one", `${hot}\nfor: 1m`, [90, 90, 70, 90, 90], "pF.pF"],
  [
    "is reported as resolved for a quarter of an hour",
    hot,
    [90, ...Array<number>(17).fill(70)],
    `F${".".repeat(16)}_`,
  ],
] as const)("an alert %s", async (_, text, values, want) => {
  expect(await states(await bench.group(rule(text)), values)).toBe(want);
});

test("an alert knows when it was active, when it fired and what its value is", async () => {
  const group = await bench.group(rule(`${hot}\nfor: 1m\nkeep_firing_for: 5m`));
  await states(group, [90, 95, 96, 70]);
  expect(group.runs[0]?.alerting?.alerts[0]).toMatchObject({
    state: "firing",
    activeAtMs: startMs,
    firedAtMs: startMs + minute,
    keepFiringSinceMs: startMs + 3 * minute,
    value: 96,
  });
});

test.for(["", "for: 1m", "keep_firing_for: 1m"])(
  "an alert that fired while the clock was ahead fires on when it is set back, and its end is reported (%s)",
  async (more) => {
    const group = await bench.group(rule(`${hot}\n${more}`));
    const ahead = 200;
    for (const [at, value] of [
      [1, 90],
      [2, 90],
      [3, 70],
      [4, 70],
      [5, 70],
      [ahead, 90],
      [ahead + 1, 90],
    ] as const)
      bench.set({ 'temp{gpu="0"}': value }, at);
    for (const at of [ahead, ahead + 1]) await bench.evaluate(group, at);
    expect(alertsOf(group)).toEqual(['firing {gpu="0"} 90']);
    await bench.evaluate(group, 1);
    await bench.evaluate(group, 2);
    expect(alertsOf(group)).toEqual(['firing {gpu="0"} 90']);
    bench.sent.splice(0);
    for (const at of [3, 4, 5]) await bench.evaluate(group, at);
    const resolved = bench.sent.filter(
      ({ endsAtMs = Infinity }) => endsAtMs <= startMs + 5 * minute,
    );
    expect(resolved.length).toBeGreaterThan(0);
  },
);

test("one rule has an alert for every label set, each with its own time", async () => {
  const group = await bench.group(rule(`${hot}\nfor: 1m`));
  bench.set({ 'temp{gpu="0"}': 90, 'temp{gpu="1"}': 70 }, 0);
  await bench.evaluate(group, 0);
  bench.set({ 'temp{gpu="0"}': 91, 'temp{gpu="1"}': 92 }, 1);
  await bench.evaluate(group, 1);
  expect(alertsOf(group)).toEqual(['firing {gpu="0"} 91', 'pending {gpu="1"} 92']);
  expect(group.runs[0]?.alerting?.state).toBe("firing");
});

test("labels and annotations are templates; the metric's name is among $labels and not among the alert's", async () => {
  const group = await bench.group(
    rule(`
alert: Hot
expr: temp > 80
labels: { severity: '{{ if gt $value 85.0 }}page{{ else }}info{{ end }}', gone: '{{ "" }}', gpu: 'G{{ $labels.gpu }}' }
annotations: { text: '{{ $labels.__name__ }} of {{ $labels.gpu }} is {{ $value | humanize }} in {{ $externalLabels.site }} {{ $externalURL }}' }`),
  );
  bench.settings = { ...bench.settings, externalLabels: new Map([["site", "lab"]]) };
  await states(group, [90]);
  const [alert] = group.runs[0]?.alerting?.alerts ?? [];
  expect(Object.fromEntries(alert?.labels ?? [])).toEqual({
    alertname: "Hot",
    gpu: "G0",
    severity: "page",
  });
  expect(alert?.annotations).toEqual({ text: "temp of 0 is 90 in lab http://hub" });
});

test("annotations follow the value, the time and the answers to queries, whatever was kept from before", async () => {
  const group = await bench.group(
    rule(`
alert: Hot
expr: temp > 80
annotations:
  value: '{{ $value }}'
  time: '{{ now }}'
  asked: '{{ with query "count(temp > 80)" }}{{ . | first | value }}{{ end }}'
  fixed: '{{ $labels.gpu }}'`),
  );
  const reported = () => group.runs[0]?.alerting?.alerts[0]?.annotations;
  await states(group, [90]);
  const first = reported();
  expect(first).toMatchObject({ value: "90", asked: "1", fixed: "0" });
  bench.set({ 'temp{gpu="0"}': 90, 'temp{gpu="1"}': 99 }, 1);
  await bench.evaluate(group, 1);
  expect(reported()).toMatchObject({ value: "90", asked: "2", fixed: "0" });
  expect(reported()?.["time"]).not.toBe(first?.["time"]);
  bench.set({ 'temp{gpu="0"}': 91 }, 2);
  await bench.evaluate(group, 2);
  expect(reported()).toMatchObject({ value: "91", fixed: "0" });
});

test("a template that cannot be expanded says so in place of its text, and the alert fires", async () => {
  const group = await bench.group(
    rule(`${hot}\nannotations: { text: '{{ query "up" | first | value }}' }`),
  );
  expect(await states(group, [90])).toBe("F");
  expect(group.runs[0]?.alerting?.alerts[0]?.annotations["text"]).toMatch(
    /^<error expanding template: .+>$/,
  );
});

test("two series that come to one label set are an error, and what was active stays as it was", async () => {
  const group = await bench.group(rule(`${hot}\nlabels: { gpu: all }`));
  bench.set({ 'temp{gpu="0"}': 90 }, 0);
  await bench.evaluate(group, 0);
  bench.set({ 'temp{gpu="0"}': 90, 'temp{gpu="1"}': 90 }, 1);
  await bench.evaluate(group, 1);
  expect(group.runs[0]).toMatchObject({
    health: "err",
    lastError: "vector contains metrics with the same labelset after applying alert labels",
  });
  expect(alertsOf(group)).toEqual(['firing {gpu="all"} 90']);
});

test("beyond its limit a rule has no alert at all; what still fires by keep_firing_for counts", async () => {
  const group = await bench.group(rule(`${hot}\nkeep_firing_for: 5m`, "    limit: 1"));
  bench.set({ 'temp{gpu="0"}': 90, 'temp{gpu="1"}': 70 }, 0);
  await bench.evaluate(group, 0);
  expect(alertsOf(group)).toHaveLength(1);
  bench.set({ 'temp{gpu="0"}': 70, 'temp{gpu="1"}': 90 }, 1);
  await bench.evaluate(group, 1);
  expect(alertsOf(group)).toEqual([]);
  expect(group.runs[0]?.lastError).toBe("exceeded limit of 1 with 2 alerts");
});

test("an error is not sent over: alerts are reported again when the rule works again", async () => {
  const group = await bench.group(
    rule("alert: Twice\nexpr: temp > 80 and on() (count(temp) < 3)\nlabels: { gpu: all }"),
  );
  bench.set({ 'temp{gpu="0"}': 90 }, 0);
  await bench.evaluate(group, 0);
  expect(bench.sent).toHaveLength(1);
  bench.set({ 'temp{gpu="0"}': 90, 'temp{gpu="1"}': 90 }, 2);
  await bench.evaluate(group, 2);
  expect(bench.sent).toHaveLength(1);
  expect(bench.said).toHaveLength(1);
  await bench.evaluate(group, 3);
  expect(bench.said).toHaveLength(1);
});

test("what fires is sent again and again, with how long it holds, and its end once more each time", async () => {
  const group = await bench.group(rule(`${hot}\nfor: 1m`));
  bench.settings = {
    ...bench.settings,
    externalLabels: new Map([
      ["site", "lab"],
      ["gpu", "none"],
    ]),
  };
  await states(group, [90, 90, 90, 90, 70]);
  const offsets = bench.sent.map(({ startsAtMs = 0, endsAtMs = 0 }) => [
    (startsAtMs - startMs) / minute,
    (endsAtMs - startMs) / minute,
  ]);
  // Sent when it fires, not again within a minute, then again, then the resolved alert.
  expect(offsets).toEqual([
    [1, 5],
    [1, 7],
    [1, 4],
  ]);
  expect(Object.fromEntries(bench.sent[0]?.labels ?? [])).toEqual({
    alertname: "Hot",
    gpu: "0",
    site: "lab",
  });
  expect(bench.sent[0]?.generatorUrl).toBe("http://hub/graph?g0.expr=temp+%3E+80&g0.tab=1");
});
