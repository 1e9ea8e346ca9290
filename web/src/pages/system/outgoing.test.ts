import { expect, test } from "vitest";
import { outgoingIn } from "./outgoing.ts";

const sample = (name: string, value: number, more: Record<string, string> = {}) => ({
  labels: { __name__: name, sink: "kafka", instance: "a:9410", ...more },
  timeMs: 0,
  value,
  text: String(value),
});

test("what a sink lost and what was refused are one number, and sinks of others stay apart", () => {
  const rows = outgoingIn([
    sample("gpulse_ship_success", 0),
    sample("gpulse_spool_dropped_samples_total", 3, { reason: "full" }),
    sample("gpulse_spool_dropped_samples_total", 4, { reason: "old" }),
    sample("gpulse_ship_samples_total", 100, { outcome: "sent" }),
    sample("gpulse_ship_samples_total", 2, { outcome: "refused" }),
    sample("gpulse_spool_bytes", 10, { instance: "b:9400" }),
  ]);
  expect(rows).toMatchObject([
    { sink: "kafka", from: "a:9410", up: 0, sent: 100, dropped: 9, lagSeconds: undefined },
    { sink: "kafka", from: "b:9400", up: undefined, spoolBytes: 10, dropped: 0 },
  ]);
});
