import { beforeEach, expect, test } from "vitest";
import { labelSet } from "../model/labels.ts";
import type { Matcher } from "../model/select.ts";
import { createEngine } from "./engine.ts";
import { MemoryStore } from "./memory-store.ts";
import { SharedSelects } from "./shared-selects.ts";

class CountingStore extends MemoryStore {
  asked = 0;

  override select(matchers: readonly Matcher[], fromMs: number, toMs: number) {
    this.asked++;
    return super.select(matchers, fromMs, toMs);
  }
}

let store: CountingStore;
beforeEach(() => {
  store = new CountingStore();
  for (const name of ["temp", "power"])
    for (const gpu of ["0", "1"])
      for (let at = 0; at <= 600; at += 60)
        store.append(labelSet({ __name__: name, gpu }), at * 1_000, at + Number(gpu));
});

const engine = createEngine();
const ask = async (query: string, selects?: SharedSelects): Promise<unknown> =>
  (await engine.instant(query, 600_000, store, { selects })).data;

const queries = [
  "temp > 100",
  "temp > 600",
  "100 < temp",
  "max(temp)",
  "avg_over_time(temp[5m]) > 400",
  "temp > 500 and on (gpu) power > 500",
  "rate(power[5m]) > 0.5",
  "temp > scalar(max(power)) - 1",
  "(temp) != 601",
  '{__name__=~"temp|power"} == 600',
];

test("queries at one instant select once, and answer as each would alone", async () => {
  const selects = new SharedSelects();
  const alone = await Promise.all(queries.map((query) => ask(query)));
  store.asked = 0;
  const together: unknown[] = [];
  for (const query of queries) together.push(await ask(query, selects));
  expect(together).toEqual(alone);
  // Three selections: temp, power, and both at once. A five-minute range equals the look-back of an instant selector.
  expect(store.asked).toBe(3);
});

test("what was written since is seen: of that metric, and where any metric is meant", async () => {
  const selects = new SharedSelects();
  const both = 'count({__name__=~"temp|new"})';
  for (const query of ["new", "temp", both]) await ask(query, selects);
  store.append(labelSet({ __name__: "new" }), 600_000, 1);
  selects.forget("new");
  store.asked = 0;
  expect(await ask("new", selects)).toMatchObject({ samples: [{ value: 1 }] });
  expect(await ask(both, selects)).toMatchObject({ samples: [{ value: 3 }] });
  await ask("temp", selects);
  expect(store.asked).toBe(2);
});

test("beyond its budget every query asks for itself", async () => {
  const selects = new SharedSelects(3);
  await ask("temp", selects);
  store.asked = 0;
  await ask("temp", selects);
  expect(store.asked).toBe(0);
  await ask("power", selects);
  await ask("power", selects);
  expect(store.asked).toBe(2);
});

test("a select that failed is not kept", async () => {
  const selects = new SharedSelects();
  const broken = new (class extends MemoryStore {
    override select(): Promise<never> {
      return Promise.reject(new Error("the disk is gone"));
    }
  })();
  const matchers = [{ name: "__name__", op: "=", value: "temp" }] as const;
  await expect(selects.select(broken, matchers, 0, 1, undefined)).rejects.toThrow("disk");
  expect(await selects.select(store, matchers, 0, 600_000, undefined)).toHaveLength(2);
});
