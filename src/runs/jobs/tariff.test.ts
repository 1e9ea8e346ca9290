import { expect, test } from "vitest";
import { Bill } from "./bill.ts";
import type { JobDayPart } from "./record.ts";
import { parseTariff } from "./tariff.ts";

test.each([
  ["0.32", [0.32, 0.32, 0.32]],
  ["0.32 22-6=0.21", [0.21, 0.32, 0.21]],
  ["0.32 0-24=0.1 12-13=0.5", [0.1, 0.5, 0.1]],
])("%s has a price for each hour", (text, [night, noon, late]) => {
  const perKwh = parseTariff(text)?.perKwh;
  expect([perKwh?.[2], perKwh?.[12], perKwh?.[23]]).toEqual([night, noon, late]);
});

test.each(["", "cheap", "0.3 22=0.2", "0.3 25-26=0.2", "-1"])("%j is no tariff", (text) => {
  expect(parseTariff(text)).toBeUndefined();
});

test("a time zone that does not exist is none", () => {
  expect(parseTariff("1", "Mars/Olympus")).toBeUndefined();
});

test("a bill prices each hour by the local clock and sums by group", () => {
  // 23:00 and 11:00 UTC are midnight and noon in Berlin.
  const hour = (iso: string): number => Date.parse(iso) / 3_600_000;
  const part: JobDayPart = {
    id: "slurm:1@0",
    name: "1",
    kind: "slurm",
    account: "vision",
    hours: [
      [hour("2026-11-18T11:00:00Z"), 3_600, 3_000, 600, 3_600_000],
      [hour("2026-11-18T23:00:00Z"), 3_600, 0, 3_600, 1_800_000],
    ],
  };
  const price = parseTariff("0.4 0-6=0.2", "Europe/Berlin");
  const bill = new Bill({ by: "account", fromMs: 0, toMs: Date.UTC(2027, 0, 1), price });
  bill.add(part);
  expect(bill.lines()).toEqual([
    {
      name: "vision",
      jobs: 1,
      gpuSeconds: 7_200,
      usefulSeconds: 3_000,
      heldIdleSeconds: 4_200,
      joules: 5_400_000,
      cost: 0.4 + 0.1,
    },
  ]);
});
