import { expect, test } from "vitest";
import type { Labels, Matrix } from "../../query/columns.ts";
import { NO_WORK, workOf } from "./work.ts";

const matrix = (...series: [Labels, number[]][]): Matrix => ({
  startMs: 0,
  endMs: 2_000,
  stepMs: 1_000,
  warnings: [],
  series: series.map(([labels, values]) => ({ labels, values: Float64Array.from(values) })),
});
const gpu = { kind: "gpu", name: "A", when: undefined } as const;
const host = { kind: "host", name: "n1", when: undefined } as const;
const gap = Number.NaN;

test("without a query there is no work, and none is made up", () =>
  expect(workOf(gpu, undefined)).toEqual({ why: NO_WORK }));

test("series of the same GPU add up, gaps aside", () =>
  expect(
    workOf(
      gpu,
      matrix(
        [{ uuid: "A", kind: "x" }, [1, gap, gap]],
        [{ uuid: "A" }, [2, 5, gap]],
        [{ uuid: "B" }, [9, 9, 9]],
      ),
    ),
  ).toEqual({ values: Float64Array.from([3, 5, gap]) }));

test.each<[string, Matrix]>([
  ["no result", matrix()],
  ["nothing of this GPU", matrix([{ uuid: "B" }, [1, 1, 1]])],
  ["no uuid label", matrix([{ host: "n1" }, [1, 1, 1]])],
])("a GPU without its own series is told why: %s", (why, given) =>
  expect(workOf(gpu, given)).toEqual({ why: expect.stringContaining(why) as unknown }),
);

test("a host's work is told by its host label", () =>
  expect(workOf(host, matrix([{ host: "n1" }, [1, 2, 3]]))).toEqual({
    values: Float64Array.from([1, 2, 3]),
  }));
