import { expect, test } from "vitest";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatAge } from "../../../src/view/age.ts";
import { formatFixedPoint, toColumnQuantity, toTotalQuantity, formatWithUnit } from "./quantity.ts";

/** Replaces both kinds of non-breaking space by a plain one. */
const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, " ");

test.each<[number, Unit, string]>([
  [0.934, "ratio", "93 %"],
  [0, "ratio", "0 %"],
  [1.004, "ratio", "100 %"],
  [150_754_820_096, "bytes", "140.4 GiB"],
  [0, "bytes", "0.0 GiB"],
  [66.6, "celsius", "67 °C"],
  [-0.2, "celsius", "0 °C"],
  [-12, "celsius", "-12 °C"],
  [612.4, "watts", "612 W"],
  [1_980_000_000, "hertz", "1 980 MHz"],
  [0.8125, "volts", "0.813 V"],
  [3_200, "rpm", "3 200 rpm"],
  [4, "none", "4"],
])("%d as %s in a column is %s", (value, unit, text) => {
  expect(plain(formatWithUnit(toColumnQuantity(value, unit)))).toBe(text);
});

test.each<[number, Unit, string]>([
  [3_412, "watts", "3 412 W"],
  [48_240, "watts", "48.2 kW"],
  [1_234_567, "watts", "1.23 MW"],
  [800 * 1024 ** 3, "bytes", "800.0 GiB"],
  [1.5 * 1024 ** 4, "bytes", "1.50 TiB"],
  [0.5, "ratio", "50 %"],
])("%d as %s in a total is %s", (value, unit, text) => {
  expect(plain(formatWithUnit(toTotalQuantity(value, unit)))).toBe(text);
});

test.each([
  [1_234_567, 0, "1 234 567"],
  [1_234.5678, 4, "1 234.5678"],
  [999, 0, "999"],
])("%d with %i digits is %s", (value, digits, text) => {
  expect(plain(formatFixedPoint(value, digits))).toBe(text);
});

test.each([
  [-5, "0 s"],
  [900, "0 s"],
  [119_999, "119 s"],
  [120_000, "2 min"],
  [7_200_000, "2 h"],
  [172_800_000, "2 d"],
])("an age of %i ms is %s", (ms, text) => {
  expect(plain(formatAge(ms))).toBe(text);
});
