import { expect, test } from "vitest";
import { bar, curve } from "./draw.ts";
import { ascii, speaksUnicode, unicode } from "./glyphs.ts";
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
