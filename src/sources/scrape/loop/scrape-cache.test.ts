import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import type { ScrapeConfig } from "../config/types.ts";
import { batchText, noLimits, scrapeConfig } from "../../../../test/fixtures/sources/scrape.ts";
import { ScrapeCache } from "./scrape-cache.ts";

const text = "text/plain; version=0.0.4";
const nowMs = 1_700_000_000_000;

function bookOf(given: Partial<ScrapeConfig> = {}) {
  const book = new ScrapeCache(labelSet({ job: "j" }));
  const config = scrapeConfig(given);
  return {
    book,
    page: (body: string, timeMs: number) => {
      const { error, ...counts } = book.takePage(Buffer.from(body), text, timeMs, nowMs, config);
      return { counts, error: error?.message, lines: batchText(book.finish()) };
    },
  };
}

test("a page becomes samples with the target's labels, of the time of the scrape", () => {
  const { page } = bookOf();
  expect(page('a 1\nb{x="y"} 2.5\n', 1_000)).toEqual({
    counts: { scraped: 2, kept: 2, seriesAdded: 2, duplicates: 0, outOfBounds: 0 },
    error: undefined,
    lines: ['a{job="j"} 1 @1000', 'b{job="j",x="y"} 2.5 @1000'],
  });
});

test("a series that is no longer on the page ends with the scrape that does not have it", () => {
  const { page } = bookOf();
  page("a 1\nb 2\n", 1_000);
  expect(page("b 3\n", 2_000).lines).toEqual(['b{job="j"} 3 @2000', 'a{job="j"} stale @2000']);
  expect(page("b 3\n", 3_000).lines).toEqual(['b{job="j"} 3 @3000']);
});

test("a series that comes back counts as added again", () => {
  const { page } = bookOf();
  page("a 1\nb 2\n", 1_000);
  page("b 2\n", 2_000);
  expect(page("a 1\nb 2\n", 3_000).counts.seriesAdded).toBe(1);
});

test("an empty page, as of a failed scrape, ends every series once", () => {
  const { page } = bookOf();
  page("a 1\n", 1_000);
  expect(page("", 2_000).lines).toEqual(['a{job="j"} stale @2000']);
  expect(page("", 3_000).lines).toEqual([]);
});

test("nothing of a page that cannot be read is kept, and what was there before ends", () => {
  const { page } = bookOf();
  page("a 1\n", 1_000);
  const broken = page("a 2\nb 3\n7&-\n", 2_000);
  expect(broken.error).toMatch(/line 3/);
  expect(broken.counts.scraped).toBe(2);
  expect(broken.lines).toEqual(['a{job="j"} stale @2000']);
  expect(page("a 4\n", 3_000).lines).toEqual(['a{job="j"} 4 @3000']);
});

test("more samples than the limit fail the scrape, and all are counted", () => {
  const { page } = bookOf({ limits: { ...noLimits, samples: 2 } });
  expect(page("a 1\nb 2\n", 1_000).error).toBeUndefined();
  const refused = page("a 1\nb 2\nc 3\nd 4\n", 2_000);
  expect(refused.error).toBe("sample limit exceeded (limit: 2)");
  expect(refused.counts).toMatchObject({ scraped: 4, kept: 4 });
  expect(refused.lines).toEqual(['a{job="j"} stale @2000', 'b{job="j"} stale @2000']);
});

test.for([
  [
    { labels: 2 },
    'a{x="1"} 1\n',
    /^label_limit exceeded \(metric: a, number of labels: 3, limit: 2\)$/,
  ],
  [{ labelNameBytes: 9 }, 'a{longer_name="1"} 1\n', /^label_name_length_limit exceeded/],
  [{ labelValueBytes: 3 }, 'a{x="long"} 1\n', /^label_value_length_limit exceeded/],
] as const)("the limit %j fails the scrape of %j", ([limits, body, error]) => {
  const refused = bookOf({ limits: { ...noLimits, ...limits } }).page(body, 1_000);
  expect(refused.error).toMatch(error);
  expect(refused.lines).toEqual([]);
  expect(refused.counts.scraped).toBe(1);
});

test("a series with a time of its own is kept at that time and never ended", () => {
  const { page } = bookOf();
  expect(page("a 1 500\n", 1_000).lines).toEqual(['a{job="j"} 1 @500']);
  expect(page("", 2_000).lines).toEqual([]);
});

test("a page's times are left aside where they are not honoured", () => {
  const { page } = bookOf({ honorTimestamps: false });
  expect(page("a 1 500\n", 1_000).lines).toEqual(['a{job="j"} 1 @1000']);
  expect(page("", 2_000).lines).toEqual(['a{job="j"} stale @2000']);
});

test("a time more than ten minutes ahead is left out and counted", () => {
  const { page } = bookOf();
  const ahead = page(`a 1 ${nowMs + 700_000}\nb 1 ${nowMs + 500_000}\n`, 1_000);
  expect(ahead.counts).toMatchObject({ kept: 2, outOfBounds: 1 });
  expect(ahead.lines).toEqual([`b{job="j"} 1 @${nowMs + 500_000}`]);
});

test("of a series that stands twice on a page the first is kept", () => {
  const { page } = bookOf();
  const twice = page("a 1\na 2\n", 1_000);
  expect(twice.counts).toMatchObject({ scraped: 2, kept: 2, duplicates: 1 });
  expect(twice.lines).toEqual(['a{job="j"} 1 @1000']);
});

test("a series whose labels come in another order goes on", () => {
  const { page } = bookOf();
  page('a{x="1",y="2"} 1\n', 1_000);
  expect(page('a{y="2",x="1"} 2\n', 2_000).lines).toEqual(['a{job="j",x="1",y="2"} 2 @2000']);
});

test("many series that come and go leave the labels of the others right", () => {
  const { page } = bookOf();
  for (let round = 0; round < 5; round++)
    page(
      `keep 1\n${Array.from({ length: 900 }, (_, at) => `churn{n="${round}-${at}"} 1\n`).join("")}`,
      round,
    );
  expect(page("keep 2\n", 10).lines.slice(0, 2)).toEqual([
    'keep{job="j"} 2 @10',
    'churn{job="j",n="4-0"} stale @10',
  ]);
  expect(page("keep 3\n", 11).lines).toEqual(['keep{job="j"} 3 @11']);
});

test("reports carry the target's labels and come in the same batch", () => {
  const { book } = bookOf();
  book.takePage(Buffer.from("a 1\n"), text, 1_000, nowMs, scrapeConfig());
  book.report("up", 1_000, 1);
  expect(batchText(book.finish())).toEqual(['a{job="j"} 1 @1000', 'up{job="j"} 1 @1000']);
});

test("a page of no known format is read as the configuration says", () => {
  const { book } = bookOf();
  const read = (config: ScrapeConfig) =>
    book.takePage(Buffer.from("a 1\n"), "text/html", 1, nowMs, config).error?.message;
  expect(read(scrapeConfig())).toBeUndefined();
  expect(read(scrapeConfig({ fallbackFormat: "openmetrics" }))).toMatch(/# EOF is missing/);
});

test("metadata is handed on once, and again when it changes", () => {
  const { book } = bookOf();
  const learn = (body: string) => {
    book.takePage(Buffer.from(body), text, 1, nowMs, scrapeConfig());
    return book.finish().metadata;
  };
  const page = "# HELP a Some help.\n# TYPE a counter\na 1\n";
  const reported = { family: "a", type: "counter", help: "Some help.", unit: "" };
  expect(learn(page)).toEqual([reported]);
  expect(learn(page)).toEqual([]);
  expect(learn(page.replace("Some", "Other"))).toEqual([{ ...reported, help: "Other help." }]);
});

/** The samples of the page in a cache of its own, which has seen no page before. */
const alone = (body: string, timeMs: number) => bookOf().page(body, timeMs).lines;

test("a page that repeats the last one but for its values gives what a new target's page gives", () => {
  const { page } = bookOf();
  const bodyOf = (a: string, b: string): string =>
    `# TYPE a gauge\na{x="1"} ${a}\na{x="1"} 9\nb ${b}\n`;
  const values = [
    ["1", "2"],
    ["1", "2"],
    ["3", "4.5"],
    ["NaN", "1e3"],
    ["-1", "0.1"],
  ] as const;
  for (const [at, [a, b]] of values.entries()) {
    const body = bodyOf(a, b);
    const { lines, counts } = page(body, at * 1_000);
    expect(lines).toEqual(alone(body, at * 1_000));
    expect(counts).toEqual({
      scraped: 3,
      kept: 3,
      seriesAdded: at === 0 ? 2 : 0,
      duplicates: 1,
      outOfBounds: 0,
    });
  }
});

test("after pages that repeat each other a series still ends, comes back, and ends with a failure", () => {
  const { page } = bookOf();
  for (const timeMs of [1_000, 2_000, 3_000]) page("a 1\nb 2\n", timeMs);
  expect(page("b 3\n", 4_000).lines).toEqual(['b{job="j"} 3 @4000', 'a{job="j"} stale @4000']);
  for (const timeMs of [5_000, 6_000]) page("b 3\n", timeMs);
  expect(page("a 1\nb 3\n", 7_000)).toMatchObject({
    lines: ['a{job="j"} 1 @7000', 'b{job="j"} 3 @7000'],
    counts: { seriesAdded: 1 },
  });
  for (const timeMs of [8_000, 9_000]) page("a 1\nb 3\n", timeMs);
  expect(page("", 10_000).lines).toEqual(['a{job="j"} stale @10000', 'b{job="j"} stale @10000']);
  for (const timeMs of [11_000, 12_000, 13_000])
    expect(page("a 1\nb 3\n", timeMs).lines).toEqual([
      `a{job="j"} 1 @${timeMs}`,
      `b{job="j"} 3 @${timeMs}`,
    ]);
  expect(page("a 1\nb x\n", 14_000).lines).toEqual([
    'a{job="j"} stale @14000',
    'b{job="j"} stale @14000',
  ]);
});

test("a timestamp on a page that repeats others is used", () => {
  const { page } = bookOf();
  for (const timeMs of [1_000, 2_000, 3_000]) page("a 1\n", timeMs);
  expect(page("a 1 500\n", 4_000).lines).toEqual(['a{job="j"} 1 @500', 'a{job="j"} stale @4000']);
});

test("reports follow the samples of a page that repeats others", () => {
  const book = new ScrapeCache(labelSet({ job: "j" }));
  const config = scrapeConfig();
  for (const timeMs of [1_000, 2_000, 3_000]) {
    book.takePage(Buffer.from("a 1\nb 2\n"), text, timeMs, nowMs, config);
    book.report("up", timeMs, 1);
    expect(batchText(book.finish())).toEqual([
      `a{job="j"} 1 @${timeMs}`,
      `b{job="j"} 2 @${timeMs}`,
      `up{job="j"} 1 @${timeMs}`,
    ]);
  }
});
