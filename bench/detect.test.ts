import { expect, test } from "vitest";
import type { Alarm } from "./detect-log.ts";
import { startMs } from "./detect-host.ts";
import { planFaults, type PlannedFault } from "./detect-plan.ts";
import { type DetectionRun, run } from "./detect-run.ts";
import { score } from "./detect-score.ts";

const options = {
  seed: 3,
  hosts: [
    ["H200", "H200"],
    ["RTX 4090", "RX 7800 XT"],
  ],
  fromMs: 3_600_000,
  untilMs: 25 * 3_600_000,
  severity: 1,
};

test("the same seed plans the same faults, another seed others", () => {
  expect(planFaults(options)).toEqual(planFaults({ ...options }));
  expect(planFaults({ ...options, seed: 4 })).not.toEqual(planFaults(options));
});

test("a GPU has one fault at a time, within the hours, and only such as it can have", () => {
  const plan = planFaults(options);
  for (const [host, gpu] of [
    [0, 0],
    [0, 1],
    [1, 0],
    [1, 1],
  ] as const) {
    const own = plan.filter((fault) => fault.host === host && fault.gpu === gpu);
    expect(own.length).toBeGreaterThan(8);
    own.forEach(({ atMs, forMs }, at) => {
      expect(atMs).toBeGreaterThanOrEqual(options.fromMs);
      expect(atMs + forMs).toBeLessThanOrEqual(options.untilMs);
      expect(atMs + forMs).toBeLessThan(own[at + 1]?.atMs ?? Number.POSITIVE_INFINITY);
    });
  }
  const radeon = plan.filter(({ host, gpu }) => host === 1 && gpu === 1).map(({ fault }) => fault);
  expect(radeon).not.toContain("xid");
  expect(radeon).not.toContain("ecc-growth");
});

test("a lost GPU alerts on a host that is scraped under the names of two exporters", async () => {
  const lost: PlannedFault = {
    fault: "gpu-lost",
    host: 0,
    gpu: 1,
    atMs: 120_000,
    forMs: 300_000,
    amount: undefined,
    matters: true,
    ownFans: false,
  };
  const { alarms, uuids } = await run({
    seed: 5,
    hosts: [["H200", "MI300X", "MI300X"]],
    faults: [lost],
    untilMs: 360_000,
    scrape: { everyMs: 15_000, exporter: "dcgm-default" },
    progress: () => {},
  });
  const names = alarms.flatMap(({ name, uuid }) => (uuid === uuids[0]?.[1] ? [name] : []));
  expect(names).toContain("GpuLost");
});

const fault: PlannedFault = {
  fault: "stuck-clocks",
  host: 0,
  gpu: 1,
  atMs: 600_000,
  forMs: 1_200_000,
  amount: 0.35,
  matters: true,
  ownFans: false,
};
const alarm = (name: string, uuid: string, minute: number, severity = "warning"): Alarm => ({
  name,
  severity,
  host: "host-1",
  uuid,
  firstMs: startMs + minute * 60_000,
  says: "",
});
const judge = (alarms: readonly Alarm[], busySeconds = 900) => {
  const done: DetectionRun = {
    alarms,
    exposure: new Map([[fault, { busySeconds, longestJobSeconds: 900 }]]),
    uuids: [["a", "b"]],
    hostNames: ["host-1"],
    failedRules: new Set(),
    verdicts: [],
    falseVerdicts: [],
  };
  return score(done, [fault], 0);
};

test.each([
  ["on that GPU, about it", alarm("GpuAnomaly/clock_low", "b", 12), 120_000, 0, 0],
  ["on that GPU, about something else", alarm("GpuHot", "b", 12), undefined, 0, 1],
  ["on that GPU before it began", alarm("GpuClockStuck", "b", 5), undefined, 1, 0],
  ["on another GPU", alarm("GpuClockStuck", "a", 12), undefined, 1, 0],
  ["that only informs", alarm("GpuClockStuck", "a", 12, "info"), undefined, 0, 0],
])("an alarm %s counts as what it is", (_what, one, afterMs, wrong, others) => {
  const judged = judge([one]);
  expect(judged.judged[0]?.afterMs).toBe(afterMs);
  expect([judged.false.length, judged.others.length]).toEqual([wrong, others]);
});

test("a fault that shows under load and had none is reported as hidden", () => {
  expect([judge([], 900).judged[0]?.hidden, judge([], 60).judged[0]?.hidden]).toEqual([
    false,
    true,
  ]);
});
