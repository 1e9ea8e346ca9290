import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import type { ActiveAlert } from "../../query/alert.ts";
import { alertLine, findAttention } from "./attention.ts";

const alert = (alertname: string, severity: string, state: ActiveAlert["state"] = "firing") => ({
  labels: { alertname, severity },
  annotations: {},
  state,
  activeAt: "",
});

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

test("alerts are counted by name; pending ones and mere notes are left out", () => {
  expect(alertLine([alert("A", "info"), alert("B", "critical", "pending")])).toBe(undefined);
  expect(
    alertLine([alert("Hot", "warning"), alert("Hot", "warning"), alert("Lost", "critical")]),
  ).toEqual({ level: "bad", count: 3, names: ["Hot ×2", "Lost"] });
});
