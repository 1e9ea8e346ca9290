import { expect, test } from "vitest";

import { drawKind, drawRequest } from "./requests.ts";

const mix = { slow: 0.1, bad: 0.1, read: 0.2, batch: 0.1, batchSeconds: 9 };

test.each([
  [0.05, "slow"],
  [0.15, "bad"],
  [0.25, "read"],
  [0.45, "batch"],
  [0.55, "completion"],
  [0.99, "completion"],
])("a draw of %f is a request of the kind %s", (draw, kind) => {
  expect(drawKind(mix, () => draw)).toBe(kind);
});

test("a read asks for a job that was answered; before there is one it is a completion", () => {
  expect(drawRequest(mix, ["a"], () => 0.25)).toEqual({
    kind: "read",
    method: "GET",
    path: "/v1/jobs/a",
  });
  expect(drawRequest(mix, [], () => 0.25)).toMatchObject({ kind: "completion", method: "POST" });
});
