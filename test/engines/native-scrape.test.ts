// A real Prometheus 3 and the hub scrape the same native histograms for a minute, and return the same results.

import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { findPrometheus3 } from "../../engines/prometheus3.ts";
import { compareNativeScrapes, thirtyQueries } from "./native-scrape-lab.ts";

const features = "--enable-feature=promql-delayed-name-removal,exemplar-storage";

test("Prometheus 3 and the hub answer the same after scraping native histograms", async (context) => {
  const program = await orSkip(context, findPrometheus3());
  const outcome = await compareNativeScrapes({
    program,
    args: [features],
    forMs: 70_000,
    everyMs: 2_000,
    queries: thirtyQueries,
  });
  expect(outcome.different).toEqual([]);
  expect(outcome.answered).toBe(outcome.asked);
  const [theirs, ours] = outcome.exemplars;
  expect(ours).toEqual(theirs);
  expect(ours).not.toEqual([]);
}, 240_000);
