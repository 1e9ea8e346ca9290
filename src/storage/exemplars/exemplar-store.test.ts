import { appendFileSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import type { Exemplar } from "../../model/exemplar.ts";
import { labelSet } from "../../model/labels.ts";
import type { Matcher } from "../../model/select.ts";
import { ExemplarStore } from "./exemplar-store.ts";
import { ExemplarSegments } from "./segments.ts";

const dir = mkdtempSync(path.join(tmpdir(), "gpulse-exemplars-"));
afterEach(() => {
  for (const file of readdirSync(dir)) rmSync(path.join(dir, file));
});

const latest = 1e6;
const requests: Matcher = { name: "__name__", op: "=", value: "requests" };

function add(store: ExemplarStore, job: string, timeMs: number, value = 1, trace = "t"): number {
  const builder = new BatchBuilder();
  const series = builder.series(labelSet({ __name__: "requests", job }));
  builder.addExemplar(series, { labels: labelSet({ trace_id: trace }), value, timeMs });
  return store.add(builder.finish(), latest);
}

const list = (store: ExemplarStore, from = 0, to = latest): string[] =>
  store
    .select([[requests]], from, to)
    .flatMap(({ labels, exemplars }) =>
      exemplars.map((one) => `${Object.fromEntries(labels)["job"]} ${text(one)}`),
    );
const text = ({ timeMs, value, labels }: Exemplar): string =>
  `${timeMs}:${value}:${labels.map(([, of]) => of).join()}`;

test("exemplars come back by series and time, within the range", () => {
  const store = new ExemplarStore(10);
  expect(add(store, "b", 10)).toBe(1);
  add(store, "a", 20, 2, "x");
  add(store, "a", 30, 3, "y");
  expect(list(store)).toEqual(["a 20:2:x", "a 30:3:y", "b 10:1:t"]);
  expect(list(store, 15, 25)).toEqual(["a 20:2:x"]);
  expect(store.select([[{ ...requests, value: "other" }]], 0, latest)).toEqual([]);
});

test("a repeated exemplar is a duplicate, an older one out of order; another bucket at the same time is neither", () => {
  const store = new ExemplarStore(10);
  add(store, "a", 20, 2);
  expect([add(store, "a", 20, 2), add(store, "a", 10), add(store, "a", 20, 5)]).toEqual([1, 0, 1]);
  expect(
    ["stored", "duplicate", "out_of_order"].map((one) => store.count(one as "stored")),
  ).toEqual([2, 1, 1]);
});

test("the oldest of all gives way to the newest, and a series without any is forgotten", () => {
  const store = new ExemplarStore(3);
  add(store, "a", 1);
  for (const timeMs of [2, 3, 4]) add(store, "b", timeMs);
  expect(list(store)).toEqual(["b 2:1:t", "b 3:1:t", "b 4:1:t"]);
  expect(store.size).toBe(3);
});

test("times in the future are refused; a limit of 0 stores none", () => {
  const store = new ExemplarStore(3);
  expect(add(store, "a", latest + 1)).toBe(0);
  expect(store.count("too_new")).toBe(1);
  expect(add(new ExemplarStore(0), "a", 1)).toBe(0);
});

test("a restart finds the newest again, also after the files have taken turns", () => {
  const first = new ExemplarStore(4, new ExemplarSegments(dir, 4, silentLog));
  for (let timeMs = 1; timeMs <= 11; timeMs++) add(first, "a", timeMs, Number.NaN);
  const before = list(first);
  first.close();
  const again = new ExemplarStore(4, new ExemplarSegments(dir, 4, silentLog));
  expect(list(again)).toEqual(before);
  expect(add(again, "a", 12)).toBe(1);
  again.close();
  const last = new ExemplarStore(4, new ExemplarSegments(dir, 4, silentLog));
  expect(list(last).at(-1)).toBe("a 12:1:t");
  last.close();
});

test("a torn record is skipped, and what comes after it is stored", () => {
  const open = (): ExemplarStore => new ExemplarStore(4, new ExemplarSegments(dir, 4, silentLog));
  const first = open();
  add(first, "a", 1);
  first.close();
  const file = readdirSync(dir)
    .map((name) => path.join(dir, name))
    .sort((a, b) => statSync(b).size - statSync(a).size)[0];
  appendFileSync(file ?? "", "torn");
  const second = open();
  add(second, "a", 2);
  second.close();
  const third = open();
  expect(list(third)).toEqual(["a 1:1:t", "a 2:1:t"]);
  third.close();
});
