import { expect, test } from "vitest";
import { RepeatedPage } from "./repeated-page.ts";

const layoutOf = (page: string, samples: number) => RepeatedPage.of(Buffer.from(page), samples);

function read(page: string, samples: number, next: string): readonly number[] | undefined {
  const values = layoutOf(page, samples)?.read(Buffer.from(next));
  return values && [...values.subarray(0, samples)];
}

const page = '# HELP a Text.\n# TYPE a gauge\na{x="one two"} 1\na{x="3"} 2\n\nb 3\n';

test.each([
  ['# HELP a Text.\n# TYPE a gauge\na{x="one two"} 10.25\na{x="3"} -7\n\nb 0\n', [10.25, -7, 0]],
  [
    '# HELP a Text.\n# TYPE a gauge\na{x="one two"} NaN\na{x="3"} 1e+09\n\nb +Inf\n',
    [NaN, 1e9, Infinity],
  ],
  [
    '# HELP a Text.\n# TYPE a gauge\na{x="one two"} 0.30000000000000004\na{x="3"} 12345678901234567000\n\nb .5\n',
    [0.30000000000000004, 12345678901234567000, 0.5],
  ],
])("a page with other values is read by position: %j", (next, values) => {
  expect(read(page, 3, next)).toEqual(values);
});

test.each([
  ["another label", page.replace("one two", "one tvo")],
  ["another comment", page.replace("Text.", "Test.")],
  ["a line more", `${page}c 4\n`],
  ["a line less", page.replace("b 3\n", "")],
  ["a shorter page", page.slice(0, 20)],
  ["no line break at the end", page.slice(0, -1)],
  ["a timestamp", page.replace("b 3", "b 3 1000")],
  ["an exemplar", page.replace("b 3", 'b 3 # {t="1"} 2')],
  ["no value", page.replace("b 3", "b ")],
  ["a blank more", page.replace("b 3", "b  3")],
  ["a word as the value", page.replace("b 3", "b x3")],
  ["two points in a number", page.replace("b 3", "b 1.2.3")],
  ["nothing", ""],
])("a page with %s is another page", (_, next) => {
  expect(read(page, 3, next)).toBeUndefined();
  expect(read(page, 3, page)).toEqual([1, 2, 3]);
});

test.each([
  ["a value and a timestamp, which count as one sample", "a 1 1000\nb 2\n", 1],
  ["fewer values than samples", "a 1\n", 2],
  ["more values than samples", "a 1\nb 2\n", 1],
  ["a tab before the value", "a\t1\n", 1],
  ["a blank at the end", "a 1 \n", 1],
  ["no line break at the end", "a 1\nb 2", 2],
])("no layout is made of a page with %s", (_, text, samples) => {
  expect(layoutOf(text, samples)).toBeUndefined();
});

test("a page without samples and the end of an OpenMetrics page are compared too", () => {
  expect(read("# EOF\n", 0, "# EOF\n")).toEqual([]);
  expect(read("a 1\n# EOF\n", 1, "a 2\n# EOF\n")).toEqual([2]);
  expect(read("a 1\n# EOF\n", 1, "a 2\n")).toBeUndefined();
});
