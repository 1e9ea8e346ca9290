import { expect, test } from "vitest";
import { closest, didYouMean } from "./closest.ts";
import { formatDuration, parseDurationMs } from "./duration.ts";

test.each([
  ["1s", 1_000],
  ["500ms", 500],
  ["1m30s", 90_000],
  ["30d", 2_592_000_000],
  ["100y", 3_153_600_000_000],
  ["5", 5_000],
  ["0.5", 500],
  ["1.5h", 5_400_000],
  ["", undefined],
  ["s", undefined],
  ["-1s", undefined],
  ["1 s", undefined],
  ["1x", undefined],
  ["NaN", undefined],
])("duration %s is %s ms", (text, ms) => expect(parseDurationMs(text)).toBe(ms));

test.each([
  [0, "0s"],
  [90_000, "1m30s"],
  [1_500, "1s500ms"],
  [86_400_000, "1d"],
])("%d ms is written %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

test.each([
  ["intervall", "interval"],
  ["log_level", "log-level"],
  ["prot", "port"],
  ["xyzzy", undefined],
])("%s: did you mean %s", (word, near) =>
  expect(closest(word, ["interval", "log-level", "port", "host"])).toBe(near),
);

test("the suggestion is a sentence, or nothing", () => {
  expect(didYouMean("prot", ["port"])).toBe(' Did you mean "port"?');
  expect(didYouMean("xyzzy", ["port"])).toBe("");
});
