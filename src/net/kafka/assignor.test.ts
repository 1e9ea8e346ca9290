import { expect, test } from "vitest";
import { assignPartitions, decodeClaims, encodeClaims, type GroupMember } from "./assignor.ts";

const member = (id: string, generation: number, ...owned: number[]): GroupMember => ({
  id,
  generation,
  owned: { gpu: owned },
});
const share = (count: number, ...members: GroupMember[]) =>
  Object.fromEntries(assignPartitions("gpu", count, members));

test("a first member gets every partition", () => {
  expect(share(3, member("a", -1))).toEqual({ a: [0, 1, 2] });
});

test("a partition that has to move is nobody's until its owner no longer claims it", () => {
  const grown = share(6, member("a", 1, 0, 1, 2, 3, 4, 5), member("b", -1));
  expect(grown).toEqual({ a: [0, 1, 2], b: [] });
  expect(share(6, member("a", 2, 0, 1, 2), member("b", 2))).toEqual({ a: [0, 1, 2], b: [3, 4, 5] });
});

test("what stays stays where it is, and the fewest partitions move", () => {
  const [a, b] = [member("a", 3, 1, 3, 5), member("b", 3, 0, 2, 4)];
  expect(share(6, a, b, member("c", -1))).toEqual({ a: [1, 3], b: [0, 2], c: [] });
  expect(share(7, a, b)).toEqual({ a: [1, 3, 5, 6], b: [0, 2, 4] });
});

test("the partitions of a member that is gone are shared out at once", () => {
  expect(share(6, member("a", 4, 0, 1), member("b", 4, 2, 3))).toEqual({
    a: [0, 1, 4],
    b: [2, 3, 5],
  });
});

test("a claim of an earlier generation does not hold: the group had given that member up", () => {
  const late = member("a", 4, 0, 1, 2, 3);
  expect(share(4, late, member("b", 5, 0, 1, 2, 3))).toEqual({ a: [], b: [0, 1] });
});

test("members without partitions, and partitions that are not there any more, are no obstacle", () => {
  expect(share(1, member("a", 1, 0, 7), member("b", -1), member("c", -1))).toEqual({
    a: [0],
    b: [],
    c: [],
  });
});

test("rounds of joining and leaving end with every partition at exactly one member", () => {
  let members: GroupMember[] = [member("a", -1)];
  for (const group of ["a", "a b", "a b c", "b c", "b c d e f g h", "c h", "h"]) {
    const ids = group.split(" ");
    for (let round = 0; round < 3; round++) {
      const known = new Map(members.map((one) => [one.id, one]));
      const joined = ids.map((id) => known.get(id) ?? member(id, -1));
      const shares = assignPartitions("gpu", 12, joined);
      members = joined.map(({ id }) => member(id, round, ...(shares.get(id) ?? [])));
    }
    const all = members.flatMap(({ owned }) => owned["gpu"] ?? []);
    expect(all.toSorted((left, right) => left - right)).toEqual([...Array(12).keys()]);
    const sizes = members.map(({ owned }) => owned["gpu"]?.length ?? 0);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  }
});

test("claims are read back, and anything else claims nothing", () => {
  const claims = { generation: 7, owned: { gpu: [0, 3] } };
  expect(decodeClaims(Buffer.from(encodeClaims(claims)))).toEqual(claims);
  for (const text of ["", "{", "[]", '{"generation":1,"owned":{"gpu":[-1]}}', '{"generation":1}'])
    expect(decodeClaims(text)).toEqual({ generation: -1, owned: {} });
});
