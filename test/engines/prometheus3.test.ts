// Every function, operator and aggregation on native histograms, histograms with custom buckets, classic ones, floats and mixes of
// them: the hub answers as a real Prometheus 3 that got the same requests, with the same warnings and infos at the same positions.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { startHub } from "../../engines/hub.ts";
import { startPrometheus3 } from "../../engines/prometheus3.ts";
import { askOf, differenceOf } from "./prometheus3-compare.ts";
import { queries, samples } from "./prometheus3-queries.ts";
import { readSamples, sendRequest, writeRequests } from "./prometheus3-samples.ts";

const features = [
  "promql-experimental-functions",
  "promql-delayed-name-removal",
  "promql-extended-range-selectors",
  "promql-binop-fill-modifiers",
];

test("every function and operator answers as Prometheus 3, annotations included", async (context) => {
  const prometheus = await orSkip(
    context,
    startPrometheus3({
      config: {},
      logLevel: "warn",
      args: [`--enable-feature=${features.join(",")}`],
    }),
  );
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-prometheus3-"));
  const hub = await startHub({ dataDir });
  try {
    const startMs = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000;
    for (const body of writeRequests(readSamples(samples), startMs))
      await Promise.all([prometheus, hub].map(({ url }) => sendRequest(url, body)));
    const [ours, theirs] = [askOf(hub.url), askOf(prometheus.url)];
    const start = startMs / 1_000;
    const end = start + 590;
    const different: string[] = [];
    let annotated = 0;
    for (const query of queries)
      for (const asked of [
        { query, start, end },
        { query, start: start + 30, end, step: 40 },
      ]) {
        const [mine, wanted] = await Promise.all([ours(asked), theirs(asked)]);
        if (wanted.warnings !== undefined || wanted.infos !== undefined) annotated++;
        const difference = differenceOf(mine, wanted);
        if (difference !== undefined) different.push(`${query}: ${difference.slice(0, 600)}`);
      }
    expect(different).toEqual([]);
    expect(annotated).toBeGreaterThan(1_000);
  } finally {
    await hub.stop();
    await prometheus.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}, 600_000);
