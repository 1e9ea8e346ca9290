import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import { createEngine } from "../../engine.ts";
import { MemoryStore } from "../../memory-store.ts";

function* noise(): Generator<number, never> {
  for (let state = 3; ;) yield (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
}

test.each([
  [10, 10],
  [10, 70],
  [35, 50],
  [90, 20],
])(
  "steps of %i s and windows of %i s: the least and the most of each window",
  async (step, range) => {
    const store = new MemoryStore();
    const random = noise();
    const samples: [timeMs: number, value: number][] = [];
    for (let timeMs = 0; timeMs < 900_000; timeMs += 1000 + (random.next().value % 9000)) {
      const kind = random.next().value >>> 28;
      const value = kind === 0 ? Number.NaN : (random.next().value >>> 24) - 100;
      samples.push([timeMs, value]);
      store.append(labelSet({ __name__: "x" }), timeMs, value);
    }
    for (const [name, pick] of [
      ["max_over_time", Math.max],
      ["min_over_time", Math.min],
    ] as const) {
      const want: [number, number][] = [];
      for (let timeMs = 0; timeMs <= 900_000; timeMs += step * 1000) {
        const all = samples.filter(([at]) => at > timeMs - range * 1000 && at <= timeMs);
        const numbers = all.flatMap(([, value]) => (Number.isNaN(value) ? [] : [value]));
        if (all.length > 0)
          want.push([timeMs, numbers.length === 0 ? Number.NaN : pick(...numbers)]);
      }
      const query = `${name}(x[${range}s])`;
      const { data } = await createEngine().range(query, 0, 900_000, step * 1000, store);
      if (data.type !== "matrix") throw new Error("a matrix was expected");
      const [series] = data.series;
      expect([...(series?.times ?? [])].map((timeMs, i) => [timeMs, series?.values[i]])).toEqual(
        want,
      );
    }
  },
);
