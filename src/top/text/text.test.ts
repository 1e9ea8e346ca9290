import { expect, test } from "vitest";
import { bar, curve, plot } from "./draw.ts";
import { ascii, speaksUnicode, unicode } from "./glyphs.ts";
import { bytesPerSecond, wattHours } from "./quantity.ts";
import { clean, cut, fit, textWidth } from "./width.ts";

test.each([
  ["abc", 3],
  ["模型", 4],
  ["e\u0301", 1],
  ["💾", 2],
  ["⣿▏░─", 4],
  ["", 0],
])("%j is %i columns wide", (text, width) => expect(textWidth(text)).toBe(width));

test.each([
  ["evil\u001b[2J", "evil?[2J"],
  ["a\u202eb\r\n", "a?b??"],
  ["\u009b31m", "?31m"],
])("%j is made safe", (text, safe) => expect(clean(text)).toBe(safe));

test.each([
  ["abcdef", 4, "abc…"],
  ["模型模型", 5, "模型…"],
  ["模型模型", 4, "模…"],
  ["abc", 3, "abc"],
  ["abc", 0, ""],
])("%j cut to %i is %j", (text, width, kept) => expect(cut(text, width)).toBe(kept));

test("what is cut in the middle of a wide character is filled up", () => {
  expect(fit("模型模型", 4)).toBe("模… ");
});

const drawn = (ratio: number | undefined, width: number, glyphs = unicode): string =>
  bar(ratio, width, "util", glyphs)
    .map(({ text }) => text)
    .join("");

test.each<[number | undefined, string]>([
  [0, "░░░░"],
  [0.5, "██░░"],
  [0.53, "██▏░"],
  [1, "████"],
  [7, "████"],
  [undefined, "    "],
])("a bar of %d is %j", (ratio, text) => expect(drawn(ratio, 4)).toBe(text));

test("a bar in ASCII has whole cells", () => expect(drawn(0.5, 4, ascii)).toBe("##.."));

test("a curve ends at the right, marks 0 and leaves what is absent blank", () => {
  expect(curve([0, null, 1, 1], 3, 1, unicode)).toEqual([" ⡀⣿"]);
  expect(curve([1, 0.5], 1, 2, unicode)).toEqual(["⡇", "⣿"]);
  expect(curve([0, null, 1], 4, 1, ascii)).toEqual([" _ #"]);
});

test("a line over a curve has its own role, is a gap inside it and an o in ASCII", () => {
  const line = { values: [0.5, 0.5, 0.5, 0.5], role: "memory" } as const;
  expect(plot([0, 0, 1, 1], "util", line, 2, 1, unicode)).toEqual([
    [{ text: "⣤⣛", role: "memory" }],
  ]);
  // Both in one role, as old values are drawn.
  const gap = { values: [null, null, 1, 1, null, null], role: "dim" } as const;
  expect(plot([1, 1, 0, 0, 1, 1], "dim", gap, 3, 1, unicode)).toEqual([
    [{ text: "⣿⣉⣿", role: "dim" }],
  ]);
  // Both are 0, which differs from absent.
  expect(plot([0, 0], "util", { values: [0, 0], role: "memory" }, 1, 1, unicode)).toEqual([
    [{ text: "⣀", role: "memory" }],
  ]);
  expect(plot([null, 1], "util", { values: [null, 0], role: "memory" }, 2, 1, ascii)).toEqual([
    [
      { text: " ", role: "util" },
      { text: "o", role: "memory" },
    ],
  ]);
});

test.each([
  [0, "0B/s"],
  [999.9, "1.0kB/s"],
  [12_345, "12.3kB/s"],
  [99_960_000, "100MB/s"],
  [1.25e9, "1.3GB/s"],
  [4.5e11, "450GB/s"],
  ["failed", "n/a"],
] as const)("%s bytes a second are %s", (value, text) => expect(bytesPerSecond(value)).toBe(text));

test.each([
  [0, "0.00Wh"],
  [36_000, "10.0Wh"],
  [3.59e6, "997Wh"],
  [3.6e6, "1.00kWh"],
  [3.6e9, "1.00MWh"],
  ["unsupported", "n/a"],
] as const)("%s joules are %s", (value, text) => expect(wattHours(value)).toBe(text));

test.each<[Record<string, string>, string, boolean]>([
  [{ LANG: "C.UTF-8" }, "linux", true],
  [{ LANG: "en_US.utf8" }, "linux", true],
  [{ LANG: "C" }, "linux", false],
  [{ LC_ALL: "POSIX", LANG: "C.UTF-8" }, "linux", false],
  [{}, "linux", false],
  [{}, "darwin", true],
])("%j on %s speaks Unicode: %s", (env, platform, speaks) => {
  expect(speaksUnicode(env, platform)).toBe(speaks);
});
