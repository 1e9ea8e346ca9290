import { expect, test, vi } from "vitest";

import { residentBytes } from "./resident-bytes.ts";

test("a process without file descriptors has no figure, and no error", () => {
  expect(residentBytes()).toBeGreaterThan(1e6);
  const read = vi.spyOn(process.memoryUsage, "rss").mockImplementation(() => {
    throw new Error("EMFILE: too many open files, uv_resident_set_memory");
  });
  expect(residentBytes()).toBeUndefined();
  read.mockRestore();
});
