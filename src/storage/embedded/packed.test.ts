import { afterEach, expect, test } from "vitest";
import { Folders, named, openAt, put } from "../../../test/store/folder.ts";
import type { SampleColumn, Matcher, SelectedSeries } from "../../model/select.ts";
import type { Store } from "./store.ts";

const folders = new Folders();
afterEach(() => folders.remove());

const every: Matcher[] = [{ name: "__name__", op: "!=", value: "" }];
const series = [named("a"), named("b"), named("c")];
const valueOf = (which: number, i: number): number => (which + 1) * (i / 8 + (i % 3));

function fill(store: Store, from: number, to: number): void {
  for (let i = from; i < to; i++)
    put(
      store,
      i * 1000,
      series.map((labels, which) => [labels, valueOf(which, i)]),
    );
}

const copyOf = (column: SampleColumn | undefined): unknown =>
  column && [
    [...column.times],
    [...column.values].map((value, i) => (column.stale?.[i] === 1 ? "ended" : value)),
  ];

const wanted = (which: number, from: number, to: number): unknown => {
  const numbers = Array.from({ length: to - from }, (_, i) => from + i);
  return [numbers.map((i) => i * 1000), numbers.map((i) => valueOf(which, i))];
};

/** Checks both read methods; `peek`, which reuses one buffer, runs from the last series to the first. */
function expectAll(found: readonly SelectedSeries[], from: number, to: number): void {
  const peeked = found.toReversed().map((one) => copyOf(one.peek?.()));
  found.forEach((one, which) => {
    expect(copyOf(one.column)).toEqual(wanted(which, from, to));
    expect(peeked[found.length - 1 - which]).toEqual(wanted(which, from, to));
  });
}

test("what was selected stays as it was while samples come, chunks fill, blocks are made and all is deleted", async () => {
  const store = await openAt(folders.make());
  fill(store, 0, 100);
  await store.seal();
  fill(store, 100, 205);
  const found = await store.select(every, 10_000, 300_000);
  expectAll(found, 10, 205);
  fill(store, 205, 300);
  expectAll(found, 10, 205);
  await store.seal();
  fill(store, 300, 340);
  await store.delete([every]);
  await store.maintain();
  expect(await store.select(every, 0, 300_000)).toEqual([]);
  expectAll(found, 10, 205);
  await store.close();
});

test.each([
  [0, 20],
  [31, 33],
  [64, 128],
  [99, 101],
  [204, 205],
])("samples %i to %i are found wherever they stand", async (from, to) => {
  const store = await openAt(folders.make());
  fill(store, 0, 100);
  await store.seal();
  fill(store, 100, 205);
  expectAll(await store.select(every, from * 1000, to * 1000 - 1), from, to);
  await store.close();
});

test("a column longer than the shared place, and one after it, are read right", async () => {
  const store = await openAt(folders.make());
  const appender = store.appender();
  const [long, short] = [appender.ref(named("a")), appender.ref(named("b"))];
  const count = 70_000;
  for (let i = 0; i < count; i++) appender.add(long, i * 1000, i / 4);
  appender.add(short, 1000, 5);
  appender.addStale(short, 2000);
  appender.commit();
  const [first, second] = await store.select(every, 0, Infinity);
  const column = first?.peek?.();
  expect([column?.values.length, column?.values[count - 1]]).toEqual([count, (count - 1) / 4]);
  expect(copyOf(second?.peek?.())).toEqual([
    [1000, 2000],
    [5, "ended"],
  ]);
  await store.close();
});
