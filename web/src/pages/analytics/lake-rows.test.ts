import { expect, test } from "vitest";
import { newestRowPerGpu, analysisPath } from "./lake-rows.ts";

test("the question names the range, the zone and the GPUs in view", () => {
  const asked = {
    scope: "gpu:GPU-a&b",
    fromMs: 0,
    toMs: 60_000,
    more: { price: "0.3", co2: undefined },
  };
  const url = new URL(analysisPath("idle", asked), "http://hub/");
  expect(url.pathname).toBe("/api/analytics/idle");
  expect(Object.fromEntries(url.searchParams)).toMatchObject({
    since: "1970-01-01T00:00:00.000Z",
    until: "1970-01-01T00:01:00.000Z",
    gpu: "GPU-a&b",
    price: "0.3",
  });
  expect(url.searchParams.has("co2")).toBe(false);
});

test("each GPU is shown with its last day", () => {
  const rows = [
    { uuid: "a", day: "1" },
    { uuid: "a", day: "2" },
    { uuid: "b", day: "1" },
  ];
  expect(newestRowPerGpu(rows)).toEqual([
    { uuid: "a", day: "2" },
    { uuid: "b", day: "1" },
  ]);
});
