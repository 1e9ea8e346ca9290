import { expect, test } from "vitest";
import { parsePage } from "./parse.ts";
import { RepeatedPage } from "./repeated-page.ts";
import { SeriesMemory } from "./series-memory.ts";

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

/** The series and values of a page, as the parser that knows no earlier page reads them; undefined if it refuses the page. */
function parsed(
  body: Buffer,
): { series: string[]; values: number[]; isPlain: boolean } | undefined {
  const found = { series: [] as string[], values: [] as number[], isPlain: true };
  try {
    parsePage<string>(body, "text", new SeriesMemory(), {
      open: (labels) => JSON.stringify(labels),
      sample: (series, value, timeMs) => {
        found.series.push(series);
        found.values.push(value);
        found.isPlain &&= timeMs === undefined;
      },
    });
  } catch {
    return undefined;
  }
  return found;
}

test("whatever changes in a page: if it is read by position, the parser reads the same", () => {
  const body = Buffer.from(page);
  const layout = RepeatedPage.of(body, 3);
  const replacements = Buffer.from('0x19.-+eE \n\t#{}"aN,=\\');
  let repeated = 0;
  for (let at = 0; at < body.length; at++)
    for (const byte of replacements)
      for (const kind of ["replace", "insert", "remove"] as const) {
        const rest = body.subarray(kind === "insert" ? at : at + 1);
        const middle = kind === "remove" ? Buffer.alloc(0) : Buffer.from([byte]);
        const changed = Buffer.concat([body.subarray(0, at), middle, rest]);
        const values = layout?.read(changed);
        if (values === undefined) continue;
        repeated++;
        expect(parsed(changed)).toEqual({
          series: parsed(body)?.series,
          values: [...values.subarray(0, 3)],
          isPlain: true,
        });
      }
  // Values of every form are among them.
  expect(repeated).toBeGreaterThan(20);
});
