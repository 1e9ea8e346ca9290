import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openMetricsPages, textPages } from "../../../test/exposition/pages.ts";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import type { LabelSet } from "../../model/labels.ts";
import { ExpositionError, type TextFormat, type ExpositionFormat } from "./visit.ts";
import { formatOf, parsePage } from "./parse.ts";
import { SeriesMemory } from "./series-memory.ts";

const goodPages = [...textPages, ...openMetricsPages].filter(
  ({ refused }) => refused === undefined,
);
const badPages = [...textPages, ...openMetricsPages].filter(({ refused }) => refused !== undefined);

/** Formats a sample as `a{b="c"} 1 @5`; names that need quotes are quoted. */
function shown(labels: LabelSet, value: number, timeMs: number | undefined): string {
  const name = labels.find(([key]) => key === "__name__")?.[1] ?? "";
  const isPlain = /^[a-zA-Z_:][\w:]*$/.test(name);
  const pairs = labels
    .filter(([key]) => key !== "__name__")
    .map(
      ([key, text]) =>
        `${/^[a-zA-Z_]\w*$/.test(key) ? key : JSON.stringify(key)}=${JSON.stringify(text)}`,
    );
  const inside = [...(isPlain ? [] : [JSON.stringify(name)]), ...pairs].join(", ");
  const number = Object.is(value, -0) ? "-0" : String(value);
  const time = timeMs === undefined ? "" : ` @${timeMs}`;
  return `${isPlain ? name : ""}${inside === "" ? "" : `{${inside}}`} ${number}${time}`;
}

function read(
  page: string | Buffer,
  format: TextFormat,
  memory: SeriesMemory<LabelSet> = new SeriesMemory(),
) {
  const samples: string[] = [];
  const metadata: string[] = [];
  const opened: string[] = [];
  const counts = parsePage(Buffer.from(page), format, memory, {
    open: (labels) => {
      opened.push(shown(labels, 0, undefined));
      return labels;
    },
    sample: (labels, value, timeMs) => samples.push(shown(labels, value, timeMs)),
    metadata: (kind, family, text) => metadata.push(`${kind} ${family} ${text}`),
  });
  return { samples, metadata, opened, counts };
}

test.each(goodPages)("$format: $says", ({ page, format, samples }) => {
  const memory = new SeriesMemory<LabelSet>();
  const first = read(page, format, memory);
  expect(first.samples).toEqual(samples);
  expect(first.counts.samples).toBe(samples?.length);
  memory.endPage(() => expect.unreachable("all were on the page"));
  // The second read of the same page uses the memory and must give the same result.
  const again = read(page, format, memory);
  expect(again.samples).toEqual(samples);
  expect(again.opened).toEqual([]);
  expect(again.metadata).toEqual([]);
});

test.each(badPages)("$format: $says is refused", ({ page, format, refused }) => {
  const memory = new SeriesMemory<LabelSet>();
  expect(() => read(page, format, memory)).toThrow(refused);
  expect(() => read(page, format, memory)).toThrow(ExpositionError);
  expect(memory.size).toBe(0);
});

test("metadata is reported with its escapes resolved, untyped as unknown", () => {
  const { metadata } = read('# HELP a b\\\\c\\nd\\"e\n# TYPE a untyped\n', "text");
  expect(metadata).toEqual(['help a b\\c\nd\\"e', "type a unknown"]);
  const open = read(
    '# HELP a b\\\\c\\nd\\"e\n# TYPE a unknown\n# UNIT a_s s\n# EOF\n',
    "openmetrics",
  );
  expect(open.metadata).toEqual(['help a b\\c\nd"e', "type a unknown", "unit a_s s"]);
});

test.each(["text", "openmetrics"] as const)(
  "%s: bounds of histograms and quantiles of summaries have one form, others stay as they are",
  (format) => {
    const page =
      '# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="1e6"} 2\nh_bucket{le="2.50"} 2\n' +
      'h_bucket{le="+Inf"} 3\nh_bucket{le="odd"} 4\nh_bucket{le="0.5",quantile="1"} 5\n' +
      '# TYPE s summary\ns{quantile="1"} 1\ns{le="1"} 1\n# TYPE g gauge\ng{le="1"} 1\n' +
      (format === "text" ? "" : "# EOF\n");
    const memory = new SeriesMemory<LabelSet>();
    const want = [
      'h_bucket{le="1.0"} 1',
      'h_bucket{le="1e+06"} 2',
      'h_bucket{le="2.5"} 2',
      'h_bucket{le="+Inf"} 3',
      'h_bucket{le="odd"} 4',
      'h_bucket{le="0.5", quantile="1"} 5',
      's{quantile="1.0"} 1',
      's{le="1"} 1',
      'g{le="1"} 1',
    ];
    expect(read(page, format, memory).samples).toEqual(want);
    memory.endPage(() => undefined);
    // A new series on a page whose TYPE line is known.
    const more = page.replace('h_bucket{le="+Inf"}', 'h_bucket{le="7"} 3\nh_bucket{le="+Inf"}');
    expect(read(more, format, memory).samples[3]).toBe('h_bucket{le="7.0"} 3');
  },
);

test("exemplars are counted", () => {
  expect(read('a 1 # {x="y"} 1\nb 1 # {} 2 3\n# EOF\n', "openmetrics").counts).toEqual({
    samples: 2,
    opened: 2,
    exemplars: 2,
  });
});

test("only what is new on a page is opened, in whatever order it comes", () => {
  const memory = new SeriesMemory<LabelSet>();
  read('a{x="1"} 1\nb 2\nc 3\n', "text", memory);
  const second = read('c 4\nb{y="2"} 5\nb 6\na{x="1"} 7\n', "text", memory);
  expect(second.samples).toEqual(["c 4", 'b{y="2"} 5', "b 6", 'a{x="1"} 7']);
  expect(second.opened).toEqual(['b{y="2"} 0']);
});

test("a name that is known is not taken for one with labels, nor for a longer one", () => {
  const memory = new SeriesMemory<LabelSet>();
  read("a 1\n", "text", memory);
  expect(read('a{x="1"} 2\n', "text", memory).samples).toEqual(['a{x="1"} 2']);
  read("a 1\n", "text", memory);
  expect(read('a {x="1"} 2\n', "text", memory).samples).toEqual(['a{x="1"} 2']);
  read("a 1\n", "text", memory);
  expect(read("ab 2\n", "text", memory).samples).toEqual(["ab 2"]);
});

test("what is no longer on the page is reported once, and opened again when it comes back", () => {
  const memory = new SeriesMemory<LabelSet>();
  const gone: string[] = [];
  const end = () => memory.endPage((labels) => gone.push(shown(labels, 0, undefined)));
  read("a 1\nb 1\nc 1\n", "text", memory);
  end();
  read("a 1\nc 1\n", "text", memory);
  end();
  expect(gone).toEqual(["b 0"]);
  read("a 1\nc 1\n", "text", memory);
  end();
  expect(gone).toEqual(["b 0"]);
  expect(memory.size).toBe(2);
  expect(read("a 1\nb 1\nc 1\n", "text", memory).opened).toEqual(["b 0"]);
  expect([...memory.handles()].length).toBe(3);
});

test("a page that fails leaves the memory as it was", () => {
  const memory = new SeriesMemory<LabelSet>();
  read("a 1\nb 1\n", "text", memory);
  memory.endPage(() => {});
  expect(() => read("a 2\nnew 1\n!\n", "text", memory)).toThrow(/line 3/);
  expect(memory.size).toBe(2);
  const next = read("a 3\nnew 1\nb 4\n", "text", memory);
  expect(next.opened).toEqual(["new 0"]);
  expect(next.samples).toEqual(["a 3", "new 1", "b 4"]);
});

test("a visitor that throws ends the reading with its own error", () => {
  const memory = new SeriesMemory<number>();
  const enough = new Error("enough");
  const visitor = {
    open: () => 0,
    sample: () => {
      throw enough;
    },
  };
  expect(() => parsePage(Buffer.from("a 1\n"), "text", memory, visitor)).toThrow(enough);
  expect(memory.size).toBe(0);
});

test("a real page of the node exporter is read whole", () => {
  const page = readFileSync(new URL("testdata/node-exporter.txt", import.meta.url));
  const { samples, metadata } = read(page, "text");
  const lines = page.toString().split("\n");
  expect(samples.length).toBe(lines.filter((line) => /^[a-z]/.test(line)).length);
  expect(metadata.length).toBe(lines.filter((line) => line.startsWith("# ")).length);
  expect(samples).toContain(
    'node_uname_info{domainname="(none)", machine="x86_64", nodename="host", release="6.1", sysname="Linux", version="#1 SMP"} 1',
  );
});

test("the agent's own page is read whole, in both formats", () => {
  for (const [file, format] of [
    ["metrics.txt", "text"],
    ["metrics.openmetrics.txt", "openmetrics"],
  ] as const) {
    const golden = readFileSync(new URL(`../../../test/golden/${file}`, import.meta.url), "utf8");
    const page = golden.replaceAll("<varies>", "0.5");
    const { samples } = read(page, format);
    expect(samples.length).toBe(
      page.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length,
    );
  }
});

const types: readonly (readonly [string | undefined, ExpositionFormat | undefined])[] = [
  ["text/plain; version=0.0.4; charset=utf-8", "text"],
  ["TEXT/PLAIN", "text"],
  ["application/openmetrics-text; version=1.0.0; charset=utf-8", "openmetrics"],
  ["application/openmetrics-text", "openmetrics"],
  ["text/html", undefined],
  ["application/vnd.google.protobuf; encoding=delimited", "protobuf"],
  ["", undefined],
  [undefined, undefined],
];

test.each(types)("Content-Type %s is %s", (type, format) => {
  expect(formatOf(type)).toBe(format);
});

test(
  "any bytes are read or refused, and a second reading by memory agrees with a first one",
  { timeout: fuzzTimeoutMs },
  async () => {
    const samples = [...textPages, ...openMetricsPages].map(({ page }) => Buffer.from(page));
    samples.push(
      readFileSync(new URL("testdata/node-exporter.txt", import.meta.url)).subarray(0, 4_000),
    );
    const long = new SeriesMemory<LabelSet>();
    await fuzz({
      seed: 0x0e,
      samples,
      parse: (bytes) => {
        const format = bytes.length % 2 === 0 ? "text" : "openmetrics";
        let fresh: string[] | undefined;
        try {
          fresh = read(bytes, format).samples;
        } catch (thrown) {
          if (!(thrown instanceof ExpositionError)) throw thrown;
        }
        if (fresh === undefined) {
          expect(() => read(bytes, format, new SeriesMemory())).toThrow(ExpositionError);
          return;
        }
        const memory = new SeriesMemory<LabelSet>();
        expect(read(bytes, format, memory).samples).toEqual(fresh);
        expect(read(bytes, format, memory).samples).toEqual(fresh);
        if (format === "text") {
          expect(read(bytes, format, long).samples).toEqual(fresh);
          long.endPage(() => {});
        }
      },
    });
  },
);
