import { expect, test } from "vitest";
import {
  printDurationMs,
  printFloat,
  printOpenMetrics,
  printShortest,
  printTwoDigits,
  readDurationMs,
  readNumber,
} from "./number.ts";
import { isLabelName, quote, unquote } from "./quote.ts";

test.each([
  ["1h30m", 5_400_000],
  ["2w", 1_209_600_000],
  ["1y1ms", 31_536_000_001],
  ["5m1h", undefined],
  ["", undefined],
  ["5", undefined],
] as const)("the duration %s is %s ms", (text, ms) => expect(readDurationMs(text)).toBe(ms));

test.each([
  [0, "0s"],
  [90_000, "1m30s"],
  [604_800_000, "1w"],
  [691_200_000, "8d"],
  [1, "1ms"],
  [31_536_000_000, "1y"],
] as const)("%i ms are printed %s", (ms, text) => expect(printDurationMs(ms)).toBe(text));

test.each([
  ["1_000", 1000],
  ["0x1F", 31],
  ["0b11", 3],
  ["017", 15],
  ["1.", 1],
  [".5e1", 5],
  ["iNf", Infinity],
  ["0x1p4", 16],
  ["3_", undefined],
  ["1__0", undefined],
  ["abc", undefined],
] as const)("the number %s is %s", (text, value) => expect(readNumber(text)).toBe(value));

test.each([
  [1e21, "1000000000000000000000", "1e+21", "1e+21"],
  [1e-7, "0.0000001", "1e-07", "1e-07"],
  [-1.5e-10, "-0.00000000015", "-1.5e-10", "-1.5e-10"],
  [1234567, "1234567", "1.234567e+06", "1.234567e+06"],
  [-0, "-0", "-0", "-0.0"],
  [5, "5", "5", "5.0"],
  [Infinity, "+Inf", "+Inf", "+Inf"],
  [Number.NaN, "NaN", "NaN", "NaN"],
] as const)("%d is printed as Go prints it", (value, plain, shortest, openMetrics) => {
  expect([printFloat(value), printShortest(value), printOpenMetrics(value)]).toEqual([
    plain,
    shortest,
    openMetrics,
  ]);
});

test.each([
  [145, "1.4e+02"],
  [155, "1.6e+02"],
  [0.153, "0.15"],
  [28, "28"],
  [9.96, "10"],
  [99.6, "1e+02"],
] as const)("%d with two digits is %s", (value, text) => expect(printTwoDigits(value)).toBe(text));

test("escapes are Go's, and bytes that are no text survive", () => {
  expect(unquote('"\\a\\x41\\101\\u00e9\\U0001F600"')).toBe("\u0007AAé😀");
  expect(unquote("`\\n`")).toBe("\\n");
  const odd = unquote('"a\\xc5z"');
  expect(quote(odd)).toBe('"a\\xc5z"');
  expect(isLabelName(odd)).toBe(false);
  expect(isLabelName("é 1")).toBe(true);
  expect(isLabelName("")).toBe(false);
  expect(quote('a"\\\n\u0001\u200b')).toBe('"a\\"\\\\\\n\\x01\\u200b"');
});
