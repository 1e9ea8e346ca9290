import { expect, test } from "vitest";
import type { Device } from "../../../model/device.ts";
import { Agreement } from "./agreement.ts";
import { integerDigests, memoryPatterns, patternWordAt, tensorDigests } from "./expected.ts";
import type { CheckedDevice, Measurement } from "./protocol.ts";
import { type CheckOutcome, judge } from "./verdict.ts";

const gpu: Device = {
  uuid: "GPU-1",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
};
const device: CheckedDevice = {
  computeCapability: 90,
  smCount: 132,
  memoryBytesPerSecond: 4.9e12,
  pcieGeneration: 5,
  pcieWidth: 16,
  memoryTotalBytes: 150e9,
};
const hopper = { bf16: 4_096, fp32: 256 };
const right = { count: 0, sms: [] };

function outcome(
  measurements: readonly Measurement[],
  more: Partial<CheckOutcome> = {},
): CheckOutcome {
  return { gpu, device, end: { state: "done" }, measurements, skipped: [], ...more };
}

const tensor = (perCycle: number, instruction: "wgmma" | "mma.sync" = "wgmma"): Measurement => ({
  test: "tensor",
  instruction,
  flopsPerSecond: perCycle * 132 * 1.4e9,
  flopsPerCycleAndSm: perCycle,
  heldHertz: 1.4e9,
  seconds: 5,
  wrong: right,
});

test.for([
  ["wgmma at 95 % of the rate of the clock held", tensor(3_900), "pass", "ok"],
  ["wgmma at 60 %", tensor(2_450), "slow", "slow"],
  ["mma.sync on Hopper", tensor(2_450, "mma.sync"), "pass", "no reference"],
  [
    "an SM that differs",
    { ...tensor(3_900), wrong: { count: 1, sms: [7] } } as Measurement,
    "fail",
    "wrong",
  ],
  [
    "a link at half its width's rate",
    { test: "host_to_device", bytesPerSecond: 27e9, seconds: 1 },
    "slow",
    "slow",
  ],
  ["a copy at 4.2 TB/s", { test: "device_copy", bytesPerSecond: 4.2e12, seconds: 1 }, "pass", "ok"],
  [
    "one wrong word of memory",
    {
      test: "memory",
      bytes: 1e9,
      patterns: 6,
      passes: 1,
      seconds: 1,
      wrongWords: 1,
      firstOffset: 8,
    },
    "fail",
    "wrong",
  ],
  [
    "products that did not reach every SM",
    { test: "products", products: 1, smCount: 131, kinds: ["integer"], seconds: 1, wrong: right },
    "slow",
    "slow",
  ],
] as const satisfies readonly (readonly [string, Measurement, string, string])[])(
  "%s",
  ([, measurement, verdict, status]) => {
    const judged = judge(outcome([measurement]), hopper);
    expect([judged.verdict, judged.results[0]?.status]).toEqual([verdict, status]);
  },
);

test("a model without rates and a GPU without a link width are reported, not judged", () => {
  const bare: CheckedDevice = { computeCapability: 89, smCount: 10, memoryTotalBytes: 1 };
  const copy: Measurement = { test: "host_to_device", bytesPerSecond: 1e6, seconds: 1 };
  const judged = judge(outcome([tensor(10), copy], { device: bare }), {});
  expect(judged.results.map(({ status }) => status)).toEqual(["no reference", "no reference"]);
  expect(judged.verdict).toBe("pass");
});

test("heat makes a right GPU slow, a power cap does not", () => {
  const under = (throttle: readonly string[]) =>
    judge(outcome([tensor(3_900)], { conditions: { throttle } }), hopper);
  expect(under(["power_cap"]).verdict).toBe("pass");
  expect(under(["power_cap", "thermal"])).toMatchObject({
    verdict: "slow",
    reasons: ["Clocks were held down: thermal."],
  });
});

test("wrong results before an early end are a failure all the same", () => {
  const wrong: Measurement = { ...tensor(3_900), wrong: { count: 2, sms: [3] } } as Measurement;
  const end = { state: "stopped", says: "Stopped: you stopped it." } as const;
  expect(judge(outcome([wrong], { end }), hopper).verdict).toBe("fail");
  expect(judge(outcome([], { end }), hopper)).toMatchObject({
    verdict: "stopped",
    reasons: [end.says],
  });
});

test("a self-test that misses a flip fails", () => {
  const selfTest = { injected: 100, found: 99, falseAlarms: 0, kinds: {} };
  expect(judge(outcome([], { selfTest }), hopper).reasons).toEqual([
    "The self-test found 99 of 100 flipped bits.",
  ]);
});

test("the majority of blocks is right, in the first launch and in later ones", () => {
  const agreement = new Agreement(2);
  const sms = [10, 11, 12, 13];
  agreement.add(Uint32Array.of(1, 2, 1, 2, 1, 9, 1, 2), sms);
  expect(agreement.wrong).toEqual({ count: 1, sms: [12] });
  agreement.add(Uint32Array.of(8, 2, 8, 2, 8, 2, 1, 2), sms);
  expect(agreement.wrong).toEqual({ count: 4, sms: [10, 11, 12] });
});

test("seeds, threads and iterations all change the digests, and a digest is the same again", () => {
  for (const digests of [integerDigests, tensorDigests]) {
    const base = digests(1, 32, 4);
    expect(digests(1, 32, 4)).toEqual(base);
    expect(new Set(base).size).toBe(32);
    expect(digests(2, 32, 4)).not.toEqual(base);
    expect(digests(1, 32, 5)).not.toEqual(base);
  }
});

test("each pattern is followed by its inverse", () => {
  for (let at = 0; at < memoryPatterns.length; at += 2) {
    const [one, other] = [memoryPatterns[at], memoryPatterns[at + 1]];
    if (one === undefined || other === undefined) throw new Error("patterns come in pairs");
    for (const index of [0n, 1n, 12_345n, 2n ** 34n])
      expect(patternWordAt(one, index) ^ patternWordAt(other, index)).toBe(2n ** 64n - 1n);
  }
});
