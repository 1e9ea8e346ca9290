import { expect, test } from "vitest";
import { findPhase, LineReader, OutputLog, PhaseReader, WorkReader } from "./output.ts";

function lines(...chunks: readonly (string | Buffer)[]): string[] {
  const seen: string[] = [];
  const reader = new LineReader((line) => seen.push(line));
  for (const chunk of chunks) reader.chunk(Buffer.from(chunk), "stdout");
  reader.end();
  return seen;
}

const euro = Buffer.from("1 €\n");

test.each<[string, string[], string[]]>([
  ["whole lines", ["a\nb\n"], ["a", "b"]],
  ["a line in pieces", ["a", "b\nc"], ["ab", "c"]],
  ["a progress bar", ["10%\r20%\r\n"], ["10%", "20%"]],
])("%s", (_name, chunks, want) => expect(lines(...chunks)).toEqual(want));

test("a letter cut by a chunk stays whole", () => {
  expect(lines(euro.subarray(0, 3), euro.subarray(3))).toEqual(["1 €"]);
});

test("streams do not mix their lines", () => {
  const seen: string[] = [];
  const reader = new LineReader((line) => seen.push(line));
  reader.chunk(Buffer.from("ab"), "stdout");
  reader.chunk(Buffer.from("xy\n"), "stderr");
  reader.chunk(Buffer.from("c\n"), "stdout");
  expect(seen).toEqual(["xy", "abc"]);
});

test("phases are marked by our own words and by a pattern", () => {
  const reader = new PhaseReader(/^== (\w+)/);
  reader.line("::phase warm-up::", 10);
  reader.line("step 1", 20);
  reader.line("== train now", 30);
  reader.line("== train again", 40);
  expect(reader.phases(90)).toEqual([
    { name: "warm-up", startMs: 10, endMs: 30 },
    { name: "train", startMs: 30, endMs: 90 },
  ]);
});

test.each([
  ["sum", 1_334.5],
  ["last", 100],
] as const)("work is the %s of what was said", (take, want) => {
  const reader = new WorkReader(/(\S+) images/, take);
  for (const line of ["1,234.5 images", "nothing", "no images", "100 images"]) reader.line(line, 0);
  expect(reader.amount()).toBe(want);
});

test.each([
  ["sum", 1, 2],
  ["sum", 2, 7],
  ["sum", 4, undefined],
  ["last", 1, 9],
  ["last", 4, undefined],
] as const)("the %s of the work in phase %i is %s", (take, phase, want) => {
  const reader = new WorkReader(/(\d+) images/, take);
  reader.line("1 images", 0);
  reader.line("2 images", 1);
  reader.line("3 images", 2);
  reader.line("4 images", 2);
  reader.line("9 images", 3);
  expect(reader.amountIn(phase)).toBe(want);
});

test("a phase is measured only if it is marked once and lasts", () => {
  const phases = [
    { name: "a", startMs: 1, endMs: 5 },
    { name: "b", startMs: 5, endMs: 9 },
    { name: "a", startMs: 9, endMs: 10 },
    { name: "c", startMs: 10, endMs: 10 },
  ];
  expect(findPhase(phases, "b")).toEqual({ ...phases[1], count: 2 });
  const problem = (name: string) => {
    const found = findPhase(phases, name);
    return "problem" in found ? found.problem : "";
  };
  expect(problem("a")).toContain('2 phases "a"');
  expect(problem("c")).toContain("no duration");
  expect(problem("d")).toContain('no phase "d", only a, b, c');
  expect(findPhase([], "d")).toEqual({ problem: 'the output marks no phase "d", and no other' });
});

test("work nobody said is not 0", () => {
  expect(new WorkReader(/(\d+) images/, "sum").amount()).toBeUndefined();
});

test("the copy of the output ends at its bound and counts the rest", () => {
  const log = new OutputLog(5);
  log.add(Buffer.from("abc"));
  expect(log.add(Buffer.from("defg")).toString()).toBe("de");
  expect([Buffer.from(log.bytes()).toString(), log.cutBytes]).toEqual(["abcde", 2]);
});
