import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import type { ActiveAlert } from "../../query/alert.ts";
import { findingsOf } from "./findings.ts";

const alert = (severity: string, summary: string): ActiveAlert => ({
  labels: { alertname: "GpuHot", severity },
  annotations: { summary },
  state: "firing",
  activeAt: "",
});

test("the worst comes first, whatever its origin, and an alert's text omits the GPU's name", () => {
  const found = findingsOf({
    gpu: sampleGpu({ row: { throttle: ["thermal"] } }),
    alerts: [alert("critical", "NVIDIA H200 GPU 3 on lab (GPU-0000) is thermally throttled")],
    verdict: {
      reasons: [
        {
          check: "memory",
          reason: "ecc_corrected",
          title: "many corrected memory errors",
          state: "degraded",
          action: "inspect",
          text: "20 within an hour.",
          since: "",
        },
      ],
    },
  });
  expect(found.map(({ level, from, says }) => [level, from, says])).toEqual([
    ["bad", "alert", "Is thermally throttled"],
    ["warn", "now", "Clocks are lowered because it is too hot."],
    ["warn", "verdict", "20 within an hour. Action: inspect at the next maintenance."],
  ]);
});

test.each([
  [3, "warn", "3\u00a0°C below the temperature at which it slows down"],
  [0, "bad", "at its slowdown temperature"],
])("%i °C below its limit is %s", (temperatureMargin, level, says) => {
  const gpu = sampleGpu({ readings: { temperatureMargin, temperatureEdge: 86 } });
  const [found] = findingsOf({ gpu, alerts: [], verdict: undefined });
  expect(found?.level).toBe(level);
  expect(found?.says).toContain(says);
});

test("a GPU that is well has no finding", () => {
  expect(findingsOf({ gpu: sampleGpu(), alerts: [], verdict: undefined })).toEqual([]);
});
