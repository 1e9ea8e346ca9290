// OTLP with delta temporality, sent to the built hub and to a real Prometheus 3, which also converts it to cumulative.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { startHub } from "../../engines/hub.ts";
import { findPrometheus3 } from "../../engines/prometheus3.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { otlpProtobuf, textAttributes } from "../fixtures/formats/otlp-decode.ts";
import { askOf, differenceOf } from "./prometheus3-compare.ts";

const exports = 14;
const everyMs = 5_000;

/** Export number `at` with all kinds; the sixth is sent twice, the tenth is older than the ninth. */
function requestAt(at: number, firstMs: number): object {
  const timeMs = firstMs + (at === 9 ? at - 2.5 : at) * everyMs;
  const point = {
    timeUnixNano: `${Math.floor(timeMs)}000000`,
    startTimeUnixNano: `${Math.floor(timeMs - everyMs)}000000`,
    attributes: textAttributes({ model: "llm" }),
  };
  const delta = { aggregationTemporality: 1 };
  const counts = [at % 3, 2, at % 2];
  const scale = at < 5 ? 2 : 1;
  const buckets = (offset: number): object => ({ offset, bucketCounts: [1, at % 4, 0, 2] });
  return {
    resourceMetrics: [
      {
        resource: { attributes: textAttributes({ "service.name": "served" }) },
        scopeMetrics: [
          {
            metrics: [
              {
                name: "d.tokens",
                sum: { ...delta, isMonotonic: true, dataPoints: [{ ...point, asInt: 7 + at }] },
              },
              {
                name: "d.queue",
                sum: { ...delta, isMonotonic: false, dataPoints: [{ ...point, asDouble: 3 - at }] },
              },
              {
                name: "d.classic",
                histogram: {
                  ...delta,
                  dataPoints: [
                    {
                      ...point,
                      count: counts.reduce((sum, count) => sum + count),
                      sum: at * 1.5,
                      explicitBounds: [0.5, 2],
                      bucketCounts: counts,
                    },
                  ],
                },
              },
              {
                name: "d.native",
                exponentialHistogram: {
                  ...delta,
                  dataPoints: [
                    {
                      ...point,
                      scale,
                      count: 2 * (3 + (at % 4)) + 1,
                      sum: at,
                      zeroCount: 1,
                      positive: buckets(at - 3),
                      negative: buckets(-at),
                    },
                  ],
                },
              },
            ],
          },
        ],
      },
    ],
  };
}

test("totals of deltas are those of Prometheus 3", async (context) => {
  const program = await orSkip(context, findPrometheus3());
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-delta-"));
  const hub = await startHub({ dataDir: path.join(folder, "data") });
  const prometheus = await startPrometheus({
    path: program,
    config: {},
    args: ["--web.enable-otlp-receiver", "--enable-feature=otlp-deltatocumulative"],
    logLevel: "warn",
  });
  try {
    const firstMs = Date.now() - exports * everyMs;
    for (let at = 0; at < exports; at++)
      for (const _again of at === 5 ? [1, 2] : [1])
        for (const { url } of [hub, prometheus]) {
          const response = await fetch(`${url}/api/v1/otlp/v1/metrics`, {
            method: "POST",
            headers: { "content-type": "application/x-protobuf" },
            body: new Uint8Array(otlpProtobuf(requestAt(at, firstMs))),
          });
          expect(response.status, await response.text()).toBe(200);
        }
    const end = (firstMs + exports * everyMs) / 1_000;
    const asked = [
      { query: '{__name__=~"d_.+"}', start: end - 60, end, step: 5 },
      { query: "increase(d_tokens_total[1m])", start: end, end },
      { query: "histogram_quantile(0.9, rate(d_native[1m]))", start: end, end },
      { query: "histogram_quantile(0.9, rate(d_classic_bucket[1m]))", start: end, end },
      { query: '{__name__=~"d_.+"}[10m]', start: end, end },
    ];
    const [ours, theirs] = [askOf(hub.url), askOf(prometheus.url)];
    for (const one of asked) {
      const [mine, wanted] = [await ours(one), await theirs(one)];
      expect(JSON.stringify(wanted.data)).toContain("metric");
      expect(differenceOf(mine, wanted), one.query).toBeUndefined();
    }
  } finally {
    await prometheus.stop();
    await hub.stop();
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);
