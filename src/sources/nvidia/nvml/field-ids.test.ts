import { expect, test } from "vitest";

import { slowdownIds } from "./field-ids.ts";

test.each([
  ["570.172.08", 269],
  ["575.57.08", 251],
  ["580.65.06", 251],
  ["580.76.05", undefined],
  ["580.82.07", 269],
  ["580.159.04", 269],
  ["590.48.01", 269],
  ["", 269],
  [undefined, 269],
])("driver %s counts thermal slowdown in field %s", (driver, id) => {
  expect(slowdownIds(driver, "linux")?.thermal).toBe(id);
});

test("a 580 of Windows is unknown, its other drivers are not", () => {
  expect(slowdownIds("580.97", "win32")).toBeUndefined();
  expect(slowdownIds("581.15", "win32")?.thermal).toBe(269);
});
