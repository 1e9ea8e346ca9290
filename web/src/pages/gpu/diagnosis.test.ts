import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import type { ExplainedCause } from "../../../../src/view/explain/explanation.ts";
import { diagnose, formatOnset } from "./diagnosis.ts";

const gpu = (index: number, clockSm: number) => sampleGpu({ index, readings: { clockSm } });
const all = [gpu(0, 1_980e6), gpu(1, 1_965e6), gpu(2, 690e6), gpu(3, 1_980e6)];
const [, , sick = gpu(2, 690e6)] = all;

const cause: ExplainedCause = {
  cause: "stuck_clocks",
  title: "Clocks held below their usual value",
  confidence: 0.93,
  summary: "GPU 2 of lab: its clock stays at 690 MHz under load, where 1980 MHz is usual.",
  sinceMs: 1_000_000,
  isOlder: false,
  gpus: [],
  evidence: [
    {
      metric: "gpu_utilization_ratio",
      value: 1,
      unit: "ratio",
      usual: null,
      sigmas: null,
      promql: "",
    },
    {
      metric: "gpu_clock_hertz",
      value: 690e6,
      unit: "hertz",
      usual: 1_980e6,
      sigmas: 40,
      promql: "",
    },
  ],
  runbook: {
    title: "",
    href: "/runbook/gpuclockstuck",
    step: "Reset the clocks: `-rgc`. Otherwise reset.",
  },
};

test("a diagnosis says what, since when, what it costs, why, how the peers are and what to do", () => {
  expect(diagnose({ gpu: sick, all, verdict: undefined, cause })).toEqual({
    what: "Clocks held below their usual value",
    sinceMs: 1_000_000,
    isOlder: false,
    cost: "−65 % clock",
    why: "Its clock stays at 690 MHz under load, where 1980 MHz is usual.",
    peers: "Its 3 peers here are at a median of 1980 MHz; none has a warning.",
    next: "Reset the clocks: `-rgc`.",
    href: "runbook/gpuclockstuck",
  });
});

test.for([
  ["GPU 2 of lab: its fan stands still.", "Its fan stands still."],
  ["GPU 2 of lab is at 87 °C at 432 W.", "It is at 87 °C at 432 W."],
  ["GPU 2 of lab (and 3 more) has not responded for 5 min.", "It has not responded for 5 min."],
  ["GPU 2 of lab reported Xid 48: memory is bad.", "It reported Xid 48: memory is bad."],
  ["None of the 4 GPUs of lab has responded.", "None of the 4 GPUs of lab has responded."],
] as const)("on its own page a GPU is not named again: %s", ([summary, why]) => {
  const named = { ...cause, summary };
  expect(diagnose({ gpu: sick, all, verdict: undefined, cause: named })?.why).toBe(why);
});

test("before the causes are known, the verdict's worst reason is the diagnosis; a note is none", () => {
  const reason = {
    check: "memory",
    reason: "ecc_uncorrected",
    title: "uncorrectable memory errors",
    state: "failing",
    action: "reset_gpu",
    text: "2 uncorrectable memory errors within a day.",
    since: "2026-01-01T00:00:00.000Z",
  } as const;
  const found = diagnose({
    gpu: sick,
    all: [sick],
    verdict: { reasons: [reason] },
    cause: undefined,
  });
  expect(found?.what).toBe("Uncorrectable memory errors");
  expect(found?.next).toBe("Drain the jobs and reset the GPU.");
  expect(found?.peers).toBeUndefined();
  const note = { ...reason, state: "healthy" } as const;
  expect(
    diagnose({ gpu: sick, all, verdict: { reasons: [note] }, cause: undefined }),
  ).toBeUndefined();
});

test("heat is a cost in degrees, and a difference of noise is none", () => {
  const of = (value: number, usual: number) =>
    diagnose({
      gpu: sick,
      all,
      verdict: undefined,
      cause: {
        ...cause,
        evidence: [
          {
            metric: "gpu_temperature_celsius",
            value,
            unit: "celsius",
            usual,
            sigmas: null,
            promql: "",
          },
        ],
      },
    })?.cost;
  expect([of(88, 66), of(67, 66)]).toEqual(["+22 °C", undefined]);
});

test("what began before the history has only a least age", () => {
  expect(formatOnset({ sinceMs: 0, isOlder: true }, 720_000, "00:00")).toBe("for at least 12 min");
  expect(formatOnset({ sinceMs: 0, isOlder: false }, 720_000, "00:00")).toBe(
    "since 00:00 (12 min)",
  );
});
