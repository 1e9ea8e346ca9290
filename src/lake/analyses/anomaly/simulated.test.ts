import { expect, test } from "vitest";
import { summary, watchSimulated } from "../../../../test/fixtures/lake/analyses-anomaly.ts";

const queue = `
queue:
  users: 11
  jobs:
    - { kind: training, share: 3, minutes: [4, 30] }
    - { kind: inference, share: 3, minutes: [5, 40], level: [0.25, 0.5] }
    - { kind: batch, share: 1, minutes: [3, 15] }
    - { kind: inference, share: 1, minutes: [5, 20], level: [0.02, 0.12] }`;

const ailing = watchSimulated(
  `
fleet: [{ model: H200, count: 8 }]
${queue}
faults:
  - { fault: degraded-paste, gpu: 0, at: 70m, for: 30m }
  - { fault: fan-failure, gpu: 1, at: 70m, for: 15m }
  - { fault: stuck-clocks, gpu: 2, at: 70m, for: 30m }
  - { fault: straggler, gpu: 3, at: 70m, for: 40m }
  - { fault: pcie-downgrade, gpu: 4, at: 70m, for: 30m }
  - { fault: power-brake, gpu: 5, at: 70m, for: 30m }
  - { fault: memory-leak, gpu: 6, at: 70m, for: 60m }
`,
  135,
);
const of = (gpu: number) => ailing.began.filter(({ device }) => device.gpu === String(gpu));

test.each([
  [0, "degraded-paste", /temperature_spike|cooling_degraded/],
  [1, "fan-failure", /temperature_spike|cooling_degraded/],
  [2, "stuck-clocks", /clock_low/],
  [3, "straggler", /straggler/],
  [4, "pcie-downgrade", /link_degraded/],
  [5, "power-brake", /clock_low/],
  [6, "memory-leak", /memory_leak/],
] as const)("GPU %i with %s is reported as such, after the fault began", (gpu, _fault, kind) => {
  const [first] = of(gpu);
  expect(first?.kind).toMatch(kind);
  expect(((first?.toldMs ?? 0) - Date.UTC(2026, 0, 5)) / 60_000).toBeGreaterThan(70);
});

test("the GPU that nothing ails is not reported", () => {
  expect(of(7)).toEqual([]);
});

test("one fault that lasts is one anomaly while jobs come and go", () => {
  expect(summary([...of(2), ...of(4), ...of(5)])).toEqual([
    "2 clock_low",
    "4 link_degraded",
    "5 clock_low",
  ]);
});

test("what was fixed is reported as over", () => {
  const ended = ailing.changes.flatMap(({ change, anomaly }) =>
    change === "ended" ? [anomaly] : [],
  );
  for (const gpu of ["2", "4", "5"]) {
    const over = ended.find(({ device }) => device.gpu === gpu);
    expect(((over?.endedMs ?? 0) - Date.UTC(2026, 0, 5)) / 60_000, gpu).toBeGreaterThan(100);
  }
  expect(ailing.watch.active().filter(({ kind }) => kind === "clock_low")).toEqual([]);
});

test("an anomaly says in words what was seen against what was expected, and where to look", () => {
  const [anomaly] = of(2);
  expect(anomaly?.says).toMatch(
    /^\d+ MHz under load, where it usually reaches 19[78]\d MHz, .*: \d+ sigmas\.$/,
  );
  expect(anomaly).toMatchObject({ unit: "hertz", severity: "warning" });
  expect(anomaly?.seen).toBeLessThan(800e6);
  expect(anomaly?.sigmas).toBeGreaterThan(6);
  expect(anomaly?.series[0]).toContain(`uuid="${anomaly?.device.uuid ?? ""}"`);
});

test("cards with fans: a dead fan is reported as the fan, bad paste as heat", () => {
  const { began } = watchSimulated(
    `
fleet: [{ model: RTX 4090, count: 4 }]
${queue}
faults:
  - { fault: fan-failure, gpu: 0, at: 90m, for: 20m }
  - { fault: degraded-paste, gpu: 1, at: 90m, for: 30m }
`,
    125,
  );
  expect(new Set(summary(began).map((line) => line.split(" ")[0]))).toEqual(new Set(["0", "1"]));
  expect(began.find(({ device }) => device.gpu === "0")?.kind).toBe("fan_slow");
  expect(began.find(({ device }) => device.gpu === "1")?.kind).toMatch(/cooling|temperature/);
});

test.each([
  ["a busy machine", `fleet: [{ model: H200, count: 8 }]\n${queue}`, 150],
  [
    "a mix of cards",
    `fleet: [{ model: MI300X, count: 3 }, { model: RTX 4090, count: 3 }, { model: RX 7800 XT, count: 2 }]\n${queue}`,
    150,
  ],
  [
    "stress that starts and stops",
    "fleet: [{ model: RX 7800 XT, count: 1 }, { model: RX 7700 XT, count: 1 }]\nworkloads: [{ run: stress, after: 1m, for: 4m, every: 10m }]",
    120,
  ],
  [
    "idle cards of which one sleeps",
    "fleet: [{ model: H200, count: 2 }, { model: RX 7800 XT, count: 1, sleeps: true }]",
    60,
  ],
  [
    "one kind of work after another",
    "fleet: [{ model: H200, count: 4 }]\nworkloads: [{ run: memcopy, for: 10m, every: 30m }, { run: matmul_bf16, after: 12m, for: 8m, every: 30m }, { run: inference, level: 0.4, after: 20m, for: 10m, every: 30m }]",
    120,
  ],
] as const)("nothing is reported %s", (_what, scenario, minutes) => {
  expect(summary(watchSimulated(scenario, minutes, 8).began)).toEqual([]);
});

test("a driver that hangs and a GPU that is lost and comes back cold are no anomalies of heat or speed", () => {
  const { began } = watchSimulated(
    `
fleet: [{ model: H200, count: 4 }]
${queue}
faults:
  - { fault: hung-driver, at: 65m, for: 3m }
  - { fault: gpu-lost, gpu: 1, at: 75m, for: 5m }
  - { fault: xid, gpu: 2, at: 80m }
`,
    110,
  );
  expect(summary(began)).toEqual([]);
});

test("dried paste shows in single instants every 15 s, on each of a mix of cards", () => {
  const { began } = watchSimulated(
    `
fleet: [{ model: H200, count: 3 }, { model: MI300X, count: 3 }, { model: RX 7800 XT, count: 2 }]
${queue}
faults:
  - { fault: degraded-paste, gpu: 0, at: 150m, for: 40m }
  - { fault: degraded-paste, gpu: 3, at: 150m, for: 40m }
  - { fault: degraded-paste, gpu: 6, at: 150m, for: 40m }
`,
    190,
    8,
    15_000,
  );
  expect(new Set(began.map(({ device }) => device.gpu))).toEqual(new Set(["0", "3", "6"]));
  for (const { kind } of began) expect(kind).toMatch(/cooling_degraded|temperature_spike/);
});
