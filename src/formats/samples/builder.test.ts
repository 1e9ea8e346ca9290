import { expect, test } from "vitest";
import { BatchBuilder } from "./builder.ts";

test("every value is kept where the columns grow", () => {
  const builder = new BatchBuilder();
  const series = builder.series([["__name__", "x"]]);
  for (let at = 0; at < 1_100; at++) builder.add(series, at, at + 1);
  const { values } = builder.finish();
  expect([...values]).toEqual(Array.from({ length: 1_100 }, (_, at) => at + 1));
});
