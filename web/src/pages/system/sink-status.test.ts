import { expect, test } from "vitest";
import { sinkStatuses, parseSelfMetrics } from "./sink-status.ts";

const page = `# HELP gpulse_ship_success Whether it works.
# TYPE gpulse_ship_success gauge
gpulse_ship_success{sink="kafka"} 0
gpulse_spool_dropped_samples_total{reason="full",sink="kafka"} 3
gpulse_spool_dropped_samples_total{reason="old",sink="kafka"} 4
gpulse_ship_samples_total{outcome="sent",sink="kafka"} 100
gpulse_ship_samples_total{outcome="refused",sink="kafka"} 2
gpulse_spool_bytes{instance="b:9400",sink="a \\"quoted\\" one"} 10 1700000000000
gpulse_store_bytes 386888
gpu_power_watts{gpu="0"} 12
`;

test("what a sink lost and what was refused are one number, and sinks of others stay apart", () => {
  expect(sinkStatuses(parseSelfMetrics(page))).toMatchObject([
    { sink: "kafka", from: "this hub", up: 0, sent: 100, dropped: 9, lagSeconds: undefined },
    { sink: 'a "quoted" one', from: "b:9400", up: undefined, spoolBytes: 10, dropped: 0 },
  ]);
});

test("of a page only the hub's own numbers are read", () => {
  const samples = parseSelfMetrics(page);
  expect(samples).toHaveLength(7);
  expect(samples.find(({ name }) => name === "gpulse_store_bytes")?.value).toBe(386_888);
});
