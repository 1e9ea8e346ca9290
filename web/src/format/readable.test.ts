import { expect, test } from "vitest";
import type { Unit } from "../../../src/model/catalogue/entry.ts";
import { formatReadable } from "./readable.ts";

const plain = (text: string): string => text.replaceAll(/[\u00a0\u202f]/g, " ");

test.each<[number, Unit, string]>([
  [0, "watts", "0 W"],
  [612.345, "watts", "612.3 W"],
  [5_600, "watts", "5 600 W"],
  [48_240, "watts", "48.24 kW"],
  [0.0312, "watts", "31.20 mW"],
  [0.1273, "ratio", "12.73 %"],
  [1, "ratio", "100 %"],
  [1_980_000_000, "hertz", "1 980 MHz"],
  [150_754_820_096, "bytes", "140.4 GiB"],
  [0, "bytes", "0 B"],
  [1_234, "bytes", "1.205 KiB"],
  [0.8125, "volts", "0.813 V"],
  [0.00042, "seconds", "420 µs"],
  [90, "seconds", "90 s"],
  [7_260, "seconds", "2.017 h"],
  [-12.5, "celsius", "-12.50 °C"],
  [3, "none", "3"],
  [Infinity, "none", "∞"],
])("%d as %s reads %s", (value, unit, text) => {
  expect(plain(formatReadable(value, unit))).toBe(text);
});
