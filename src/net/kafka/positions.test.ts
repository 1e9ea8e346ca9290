import { expect, test } from "vitest";
import { Positions } from "./positions.ts";
import { backoffMs } from "../../base/retry.ts";
import { framedSnappy } from "./compression.ts";

const begin = (...pairs: [number, bigint][]) => new Map(pairs);

test("a partition that comes back goes on where it was left, with nothing skipped", () => {
  const positions = new Positions();
  positions.assign(begin([0, 50n]));
  positions.of(0).next = 100n;
  positions.lose();
  expect(positions.assigned).toEqual([]);
  positions.assign(begin([0, 70n]));
  expect(positions.of(0)).toMatchObject({ next: 100n, committed: 70n });
});

test.each([
  ["another member went further", 150n],
  ["the group was set back behind our start", 10n],
])("where %s, reading begins at what the group says", (_, committed) => {
  const positions = new Positions();
  positions.assign(begin([0, 50n]));
  positions.of(0).next = 100n;
  positions.assign(begin([0, committed]));
  expect(positions.of(0)).toMatchObject({ from: committed, next: committed, committed });
});

test("a revoked partition is not read any more, and is ours to commit until it is given up", () => {
  const positions = new Positions();
  positions.assign(begin([0, 0n], [1, 5n], [2, 0n]));
  positions.of(0).next = 3n;
  positions.of(2).next = 9n;
  expect(positions.reshare([0, 1, 4])).toEqual([4]);
  expect([positions.assigned, positions.revoked]).toEqual([[0, 1], [2]]);
  expect(positions.has(2)).toBe(false);
  expect([...positions.uncommitted()]).toEqual([
    [0, 3n],
    [2, 9n],
  ]);
  positions.giveUp([2]);
  expect([...positions.uncommitted()]).toEqual([[0, 3n]]);
});

test("a revoked partition that comes back before it is given up goes on as if nothing had been", () => {
  const positions = new Positions();
  positions.assign(begin([0, 0n], [1, 0n]));
  positions.of(1).next = 9n;
  positions.reshare([0]);
  const { revoked } = positions;
  expect(positions.reshare([0, 1])).toEqual([]);
  positions.giveUp(revoked);
  expect([positions.assigned, positions.of(1).next]).toEqual([[0, 1], 9n]);
});

test("lag is reported once the end is known, and is never below nothing", () => {
  const positions = new Positions();
  positions.assign(begin([0, 4n], [1, 4n]));
  expect(positions.lag().size).toBe(0);
  positions.of(0).end = 10n;
  positions.of(1).end = 2n;
  expect([...positions.lag()]).toEqual([
    [0, 6],
    [1, 0],
  ]);
});

test("a mark commits what had been handed on by then, and nothing of a partition that began again since", () => {
  const positions = new Positions();
  positions.assign(
    new Map([
      [0, 0n],
      [1, 0n],
    ]),
  );
  positions.of(0).next = 5n;
  positions.of(1).next = 7n;
  const mark = positions.mark();
  positions.of(0).next = 9n;
  expect([...positions.uncommitted(mark)]).toEqual([
    [0, 5n],
    [1, 7n],
  ]);
  positions.skipTo(1, 20n);
  positions.of(1).next = 22n;
  expect([...positions.uncommitted(mark)]).toEqual([[0, 5n]]);
  expect([...positions.uncommitted()]).toEqual([
    [0, 9n],
    [1, 22n],
  ]);
  positions.of(0).committed = 5n;
  expect(positions.uncommitted(mark).size).toBe(0);
  positions.lose();
  expect(positions.uncommitted(mark).size).toBe(0);
});

test("pauses grow up to ten seconds, with jitter", () => {
  expect([0, 1, 5, 50].map((attempt) => backoffMs(attempt, () => 1))).toEqual([
    100, 200, 3_200, 10_000,
  ]);
  expect(backoffMs(0, () => 0)).toBe(50);
});

const frame = (...blocks: string[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x82, ...Buffer.from("SNAPPY"), 0, 0, 0, 0, 1, 0, 0, 0, 1]),
    ...blocks.map((block) =>
      Buffer.concat([Buffer.from([0, 0, 0, block.length]), Buffer.from(block)]),
    ),
  ]);
const upper = framedSnappy((data) => Buffer.from(data.toString().toUpperCase()));

test("snappy in Java's frame is read block by block, and without it as it is", () => {
  expect(upper(frame("ab", "c")).toString()).toBe("ABC");
  expect(upper(Buffer.from("ab")).toString()).toBe("AB");
  expect(() => upper(frame("ab").subarray(0, -1))).toThrow(/too early/);
});
