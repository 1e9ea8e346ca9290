import { expect, test } from "vitest";
import { runCsvOf, runGpus, runPlotOf } from "./run-plot.ts";

const gpu = (host: string) => ({
  uuid: host,
  model: "NVIDIA H200",
  host,
  simulated: false,
  power: "board" as const,
});
const run = (name: string, host: string) => ({
  name,
  startMs: 0,
  seconds: 2,
  samplingMs: 1_000,
  work: { why: "none" },
  doubts: [],
  gpus: [gpu(host)],
});
const subjects = [
  { name: "=small", runs: [run("one", "a"), run("two", "a")] },
  { name: "large, new", runs: [run("three", "b")] },
];
const curve = {
  metric: "power",
  of: [
    [
      { stepSeconds: 1, values: [100, null] },
      { stepSeconds: 1, values: [0, 50] },
    ],
    [{ stepSeconds: 0.5, values: [200.5] }],
  ],
};

test("the table of recorded runs has a row per run and step, and an empty cell where nothing was read", () => {
  expect(runCsvOf({ title: "Power", unit: "watts" }, { subjects }, curve)).toBe(`# Power
# unit watts, seconds from the start of each run
subject,run,seconds,value
'=small,one,0.5,100
'=small,one,1.5,
'=small,two,0.5,0
'=small,two,1.5,50
"large, new",three,0.25,200.5
`);
});

test("a picture of recorded runs names their GPUs once each", () => {
  expect(runGpus({ subjects })).toBe("NVIDIA H200 on a, NVIDIA H200 on b");
});

test("every run is a line in its subject's colour, with gaps left open", () => {
  const { caption, lines, ticks } = runPlotOf("Power", "watts", curve);
  expect(caption).toBe("Power (W)");
  expect(lines.map(({ subject }) => subject)).toEqual([0, 0, 1]);
  expect(lines[0]?.path).toMatch(/^M[\d.]+ [\d.]+h0$/);
  expect(ticks.length).toBeGreaterThan(2);
});
