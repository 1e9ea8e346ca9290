import { expect, test } from "vitest";
import { formatState } from "./state.ts";

test("a job that nobody sees any more does not count as running", () => {
  const job = { state: "running", seenMs: 1_000_000 } as const;
  expect(formatState(job, 1_060_000)).toBe("running");
  expect(formatState(job, 1_213_000)).toBe("not seen for 3\u00a0min");
  expect(formatState(job, 1_213_000, " ")).toBe("not seen for 3 min");
  expect(formatState({ ...job, scheduled: true }, 1_213_000)).toBe("running");
  expect(formatState({ ...job, state: "out_of_memory" }, 1_213_000)).toBe("out of memory");
});
