import { expect, test } from "vitest";
import { readSubject, shiftMsOf, subjectsCodec, writeSubject } from "./subject.ts";

const hour = 3_600_000;

test.each([
  "SIM-1",
  "SIM-1@-24h",
  "SIM-1@-1h30m",
  "SIM-1@2026-01-31T14:00:00Z",
  "amd-0000:03:00.0@node-1@-24h",
])("%s is read and written the same", (text) =>
  expect(writeSubject(readSubject("gpu", text))).toBe(text),
);

test.each(["SIM-1@", "SIM-1@-2parsecs"])("%s is the time in view", (text) =>
  expect(readSubject("gpu", text)).toEqual({ kind: "gpu", name: "SIM-1", when: undefined }),
);

test.each(["amd-0000:03:00.0@node-1", "SIM-1@may-2"])("%s is a GPU of a host", (text) =>
  expect(readSubject("gpu", text)).toEqual({ kind: "gpu", name: text, when: undefined }),
);

test("a list keeps its order, names nobody twice and stays readable", () => {
  const codec = subjectsCodec("host");
  expect(codec.read("b,a,b,,a@-1h").map(writeSubject)).toEqual(["b", "a", "a@-1h"]);
  expect(codec.read(Array.from({ length: 20 }, (_, at) => `h${at}`).join())).toHaveLength(8);
  expect(codec.write(codec.read("b,a@-1h"))).toBe("b,a@-1h");
  expect(codec.write([])).toBeUndefined();
  expect(codec.read(null)).toEqual([]);
});

test.each([
  [undefined, 0],
  [{ kind: "earlier", ms: hour }, hour],
  [{ kind: "earlier", ms: hour + 2_400 }, hour],
  [{ kind: "from", ms: 10 * hour }, -2 * hour],
  [{ kind: "from", ms: 5 * hour - 2_600 }, 3 * hour + 5_000],
] as const)("%j is shifted by %d ms, in whole steps", (when, want) =>
  expect(shiftMsOf(when, 8 * hour, 5_000)).toBe(want),
);
