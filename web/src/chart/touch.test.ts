import { expect, test } from "vitest";
import { pinchWindow } from "./touch.ts";

const hour = { fromMs: 0, toMs: 3_600_000 };

test("fingers that move apart zoom in around what was under them", () => {
  expect(pinchWindow(hour, 400, { left: 150, right: 250 }, { left: 100, right: 300 })).toEqual({
    fromMs: 900_000,
    toMs: 2_700_000,
  });
});

test("fingers that close in zoom out", () => {
  expect(pinchWindow(hour, 400, { left: 100, right: 300 }, { left: 150, right: 250 })).toEqual({
    fromMs: -1_800_000,
    toMs: 5_400_000,
  });
});
