import { expect, test } from "vitest";
import { labelSet } from "../model/labels.ts";
import { MemoryStore } from "./memory-store.ts";

test("series come by matchers and time, oldest sample first, with their ends marked", async () => {
  const store = new MemoryStore();
  const a = labelSet({ __name__: "up", job: "a" });
  store.append(a, 2000, 2);
  store.append(a, 1000, 1);
  store.append(a, 3000, 0, true);
  store.append(labelSet({ __name__: "up", job: "b" }), 9000, 9);
  const up = [{ name: "__name__", op: "=", value: "up" }] as const;
  const [first, ...rest] = await store.select(up, 0, 3000);
  expect(rest).toEqual([]);
  expect(first?.labels).toEqual(a);
  expect([...(first?.column.times ?? [])]).toEqual([1000, 2000, 3000]);
  expect([...(first?.column.stale ?? [])]).toEqual([0, 0, 1]);
  expect(await store.labelNames([up], 0, 9999)).toEqual(["__name__", "job"]);
  expect(await store.labelValues("job", [], 0, 9999)).toEqual(["a", "b"]);
  expect(await store.series([[{ name: "job", op: "!=", value: "a" }]], 0, 9999)).toEqual([
    labelSet({ __name__: "up", job: "b" }),
  ]);
});
