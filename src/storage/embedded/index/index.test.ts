import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import type { Matcher } from "../../../model/select.ts";
import { cardinality } from "./cardinality.ts";
import { LabelIndex } from "./index.ts";
import { compilePattern } from "./pattern.ts";
import { Postings } from "./postings.ts";
import { hashWords, LabelHasher } from "../../../formats/samples/label-hash.ts";
import { RawLabels } from "./raw-labels.ts";

function fleet(): LabelIndex {
  const index = new LabelIndex();
  for (let host = 0; host < 4; host++)
    for (const name of ["power", "temp", "clock"])
      index.add(
        labelSet({ __name__: name, host: `node-${host}`, ...(host === 3 ? { zone: "b" } : {}) }),
      );
  return index;
}

/** Parses `name=value` and the other operators, as in PromQL but without quotes. */
function matchers(text: string): Matcher[] {
  return text.split(" ").map((one) => {
    const [, name = "", op = "=", value = ""] = /^(\w+)(=~|!~|!=|=)(.*)$/s.exec(one) ?? [];
    return { name, op: op as Matcher["op"], value };
  });
}

test.each([
  ["__name__=power", [0, 3, 6, 9]],
  ["__name__=power host=node-2", [6]],
  ["__name__=power host!=node-2", [0, 3, 9]],
  ["__name__=~po.* host=~node-[01]", [0, 3]],
  ["__name__=~power|temp host=node-0", [0, 1]],
  ["__name__=temp zone=", [1, 4, 7]],
  ["__name__=temp zone!=", [10]],
  ["__name__=temp zone=~.*", [1, 4, 7, 10]],
  ["__name__=temp zone=~.+", [10]],
  ["__name__=temp zone!~b", [1, 4, 7]],
  ["__name__=temp nothing=~x|", [1, 4, 7, 10]],
  ["__name__=temp nothing=x", []],
  ["host=~(node-1|node-3) __name__!~t.*|p.*", [5, 11]],
  ["zone=b", [9, 10, 11]],
  ["__name__=pow", []],
])("%s selects the right series", (text, want) => {
  expect([...fleet().select(matchers(text))]).toEqual(want);
});

test.each<[string, readonly string[], readonly string[]]>([
  ["abc", ["abc"], ["ab", "abcd", ""]],
  ["a|b|", ["a", "b", ""], ["ab"]],
  ["abc.*", ["abc", "abc\n1"], ["ab", "xabc"]],
  ["abc.+", ["abcd"], ["abc"]],
  [".*abc", ["abc", "1abc"], ["abcd"]],
  [".+abc.+", ["1abc2", "abcabcabc"], ["abc1", "1abc"]],
  ["(?i)abc", ["ABC"], ["x"]],
  ["a.c", ["a\nc", "axc"], ["ac"]],
  ["^a$|b", ["a", "b"], ["ab"]],
  ["[a-c]{2}", ["ab"], ["abc"]],
  ["\\d+", ["12"], ["x"]],
  ["a\\.b", ["a.b"], ["axb"]],
  ["é.*", ["é1"], ["e1"]],
])("the pattern %j is anchored at both ends", (source, yes, no) => {
  const pattern = compilePattern(source);
  expect(yes.filter((text) => !pattern.test(text))).toEqual([]);
  expect(no.filter((text) => pattern.test(text))).toEqual([]);
});

test("an expression that would take a backtracking engine for ever is answered at once", () => {
  expect(compilePattern("(a+)+$b").test("a".repeat(5000))).toBe(false);
});

test("an expression that is none is refused in words", () => {
  expect(() => compilePattern("a(")).toThrow(/The regular expression "a\(" is not valid/);
  expect(() => compilePattern("a(?=b)")).toThrow(/is not valid/);
});

test("series are found again by their labels, dropped, and their numbers given out again", () => {
  const index = fleet();
  const labels = labelSet({ __name__: "temp", host: "node-1" });
  expect(index.find(labels)).toBe(4);
  expect(index.labels(4)).toEqual(labels);
  index.drop(4);
  expect(index.find(labels)).toBeUndefined();
  expect([...index.select(matchers("__name__=temp"))]).toEqual([1, 7, 10]);
  index.table.release(4);
  expect(index.add(labelSet({ __name__: "temp", host: "new" }))).toBe(4);
  expect([...index.select(matchers("__name__=temp"))]).toEqual([1, 4, 7, 10]);
  expect(index.table.count).toBe(12);
});

test("thousands of sets come and go without one being taken for another", () => {
  const index = new LabelIndex();
  const set = (i: number) => labelSet({ __name__: `m${i % 50}`, id: String(i) });
  for (let i = 0; i < 20_000; i++) expect(index.add(set(i))).toBe(i);
  for (let i = 0; i < 20_000; i += 2) index.drop(i);
  for (let i = 0; i < 20_000; i++) expect(index.find(set(i))).toBe(i % 2 === 0 ? undefined : i);
  expect([...index.select(matchers("__name__=m7"))].length).toBe(400);
});

test("many series leave at once as they would one by one", () => {
  const [together, singly] = [fleet(), fleet()];
  together.dropAll([0, 4, 5, 11]);
  for (const ref of [0, 4, 5, 11]) singly.drop(ref);
  for (const text of ["__name__=power", "host=node-1", "zone=b", "__name__=~.+"])
    expect([...together.select(matchers(text))]).toEqual([...singly.select(matchers(text))]);
  expect(together.table.count).toBe(8);
});

test("an index loaded at once selects like one filled series by series", () => {
  const [loaded, filled] = [new LabelIndex(), new LabelIndex()];
  // Shared label objects as in a record, numbers out of order, a number reused, and labels that move to another number.
  const [power, temp] = [["__name__", "power"] as const, ["__name__", "temp"] as const];
  const entries = Array.from({ length: 300 }, (_, i) => ({
    ref: (i * 7) % 250,
    labels: [
      i % 3 === 0 ? temp : power,
      ["host", `node-${i % 40}`],
      ["id", String(i % 260)],
    ] as const,
  }));
  const known = new Map<readonly [string, string], number>();
  loaded.load(() => {
    for (const { labels, ref } of entries) loaded.assign(labels, ref, known);
    loaded.dropAll([3, 4]);
    loaded.drop(5);
  });
  for (const { labels, ref } of entries) {
    const before = filled.find(labels);
    if (before === ref) continue;
    if (before !== undefined) filled.drop(before);
    if (filled.table.isAlive(ref)) filled.drop(ref);
    filled.add(labels, ref);
  }
  filled.dropAll([3, 4, 5]);
  for (const index of [loaded, filled])
    for (let id = 0; id < 50; id++) index.add([power, ["host", "node-1"], ["id", `new-${id}`]]);
  for (const text of [
    "__name__=power",
    "__name__=temp host=node-7",
    "id=~1.*",
    "host=node-1",
    "__name__=~.+",
  ])
    expect([...loaded.select(matchers(text))], text).toEqual([...filled.select(matchers(text))]);
  expect(loaded.table.count).toBe(filled.table.count);
});

test("postings stay sorted whatever the order they come in", () => {
  const postings = new Postings();
  for (const value of [5, 1, 9, 3, 7, 5, 9, 0]) postings.add(0, value);
  for (const value of [4, 2]) postings.add(1, value);
  postings.remove(0, 5);
  postings.remove(0, 6);
  expect([...postings.view(0)]).toEqual([0, 1, 3, 7, 9]);
  expect([...postings.view(1)]).toEqual([2, 4]);
});

test("raw label bytes lead to their series in any order and from any place in a buffer", () => {
  const raw = new RawLabels();
  const hasher = new LabelHasher();
  const hash = new Uint32Array(hashWords);
  const find = (one: Uint8Array, from: number, to: number): number => {
    hasher.hash(one, from, to, hash, 0);
    return raw.find(hash, 0);
  };
  const texts = Array.from({ length: 5000 }, (_, i) => `{"n":"metric","i":"${i}"}`);
  const bytes = texts.map((text) => Buffer.from(text));
  bytes.forEach((one, i) => {
    expect(find(one, 0, one.length)).toBe(-1);
    raw.put(hash, 0, i);
  });
  for (let i = 4999; i >= 0; i -= 7) {
    const moved = Buffer.from(`xy${texts[i]}z`);
    expect(find(moved, 2, moved.length - 1)).toBe(i);
    expect(find(moved, 1, moved.length - 1)).toBe(-1);
  }
  bytes.forEach((one, i) => expect(find(one, 0, one.length)).toBe(i));
});

test("the cardinality page counts series, values and pairs", () => {
  const { seriesCount, seriesCountByMetricName, labelValueCountByLabelName, ...rest } = cardinality(
    fleet(),
    2,
  );
  expect(seriesCount).toBe(12);
  expect(seriesCountByMetricName).toEqual([
    { name: "clock", value: 4 },
    { name: "power", value: 4 },
  ]);
  expect(labelValueCountByLabelName).toEqual([
    { name: "host", value: 4 },
    { name: "__name__", value: 3 },
  ]);
  expect(rest.seriesCountByLabelValuePair[0]).toEqual({ name: "__name__=clock", value: 4 });
  expect(rest.labelPairs).toBe(8);
});

test("a pattern that keeps all else waiting is refused, and goes on from there when it is asked again", () => {
  let clockMs = 10_000;
  const pattern = compilePattern("(a|b)+c", () => (clockMs += 500));
  let asked = 0;
  const ask = (): void => {
    for (; asked < 40; asked++) pattern.test("abc");
  };
  expect(ask).toThrow(/takes too long/);
  expect(asked).toBe(11);
  expect(pattern.test("abc")).toBe(true);
  clockMs += 60_000;
  for (let later = 0; later < 40; later++) {
    clockMs += 2_000;
    expect(pattern.test("abc")).toBe(true);
  }
});

test("a pattern too long for its engine is refused, and words between bars are not", () => {
  expect(() => compilePattern("(a?)".repeat(20_000))).toThrow(/longer than 65536/);
  const words = Array.from({ length: 20_000 }, (_, at) => `gpu${at}`).join("|");
  expect(compilePattern(words).test("gpu19999")).toBe(true);
  expect(() => compilePattern("(?:a?)".repeat(10_000)).test("a".repeat(16_000))).toThrow(
    /takes too long/,
  );
});
