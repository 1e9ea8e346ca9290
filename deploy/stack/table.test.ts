import { expect, test } from "vitest";

import { plainWord, renderTable, type Row, spell } from "./table.ts";

const rows: readonly Row[] = [
  {
    name: "redis",
    state: "healthy",
    pid: 42,
    address: "redis://127.0.0.1:6379",
    startedMs: 0,
    restarts: 1,
    lastWord: "ready",
    usage: { pssBytes: 6.6e6, openFiles: 9, cpuSeconds: 1, processes: 1 },
  },
  { name: "cadvisor", state: "skipped", address: "", restarts: 0, lastWord: "needs Go" },
];
const options = {
  rows,
  nowMs: 61_000,
  columns: 100,
  lines: 40,
  colour: false,
  title: "gpulse stack",
  footer: ["Ctrl-C stops all"],
};

test("a row a service: what it is, where it is, what it takes, what it said last", () => {
  expect(renderTable(options).split("\n")).toEqual([
    "gpulse stack",
    "",
    "SERVICE   STATE    PID  ADDRESS            UP  AGAIN  MEMORY  LAST WORD",
    "redis     healthy   42  127.0.0.1:6379  1m 1s      1  6.6 MB  ready",
    "cadvisor  skipped                                             needs Go",
    "",
    "Ctrl-C stops all",
  ]);
});

test("no line is wider and no table higher than the terminal", () => {
  const small = renderTable({ ...options, columns: 30, lines: 6 }).split("\n");
  expect(Math.max(...small.map((line) => line.length))).toBeLessThanOrEqual(30);
  expect(small).toContain("… 2 more");
});

const words: readonly (readonly [string, string])[] = [
  ['{"level":"info","message":"job done","trace_id":"1"}', "job done"],
  [
    'ts=2026-11-15T14:24:17.808Z caller=main.go:1 level=info msg="Completed loading"',
    "Completed loading",
  ],
  ["15535:M 15 Nov 2026 14:24:17.100 * Ready to accept connections", "Ready to accept connections"],
  ["2026-11-15 14:24:20.820 UTC [15] LOG:  database system is ready", "database system is ready"],
  ["2026-11-15T14:24:23.971Z\tinfo\tmerging", "info merging"],
  ["plain words", "plain words"],
];
test.each(words)("of the line %s the message is shown", (line, message) => {
  expect(plainWord(line)).toBe(message);
});

test("times are spelt with their two largest parts", () => {
  expect([0, 59_999, 61_000, 3_700_000, 90_000_000].map(spell)).toEqual([
    "0s",
    "59s",
    "1m 1s",
    "1h 1m",
    "1d 1h",
  ]);
});
