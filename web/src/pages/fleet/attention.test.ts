import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import { alertLine, findAttention } from "./attention.ts";

test("the worst comes first, the same problem is one line, and usual states are left out", () => {
  const lines = findAttention([
    sampleGpu({ index: 0, row: { throttle: ["power_cap"] } }),
    sampleGpu({ index: 1, row: { throttle: ["thermal"] } }),
    sampleGpu({ index: 2, readings: { up: 0 } }),
    sampleGpu({ index: 3, readings: { up: 0 } }),
  ]);
  expect(lines.map(({ title, level, gpus }) => [title, level, gpus.length])).toEqual([
    ["lost", "bad", 2],
    ["thermal", "warn", 1],
  ]);
});

test("uncorrectable ECC errors are one line, however many each GPU has", () => {
  const lines = findAttention(
    [3, 5].map((eccUncorrected, index) => sampleGpu({ index, readings: { eccUncorrected } })),
  );
  expect(lines.map(({ title, gpus }) => [title, gpus.length])).toEqual([["ECC", 2]]);
});

test("alerts are counted by name; mere notes are left out", () => {
  expect(alertLine([{ name: "A", severity: "info", count: 3 }])).toBe(undefined);
  expect(
    alertLine([
      { name: "Hot", severity: "warning", count: 1 },
      { name: "Lost", severity: "critical", count: 1 },
      { name: "Hot", severity: "critical", count: 1 },
    ]),
  ).toEqual({ level: "bad", count: 3, names: ["Hot ×2", "Lost"] });
});
