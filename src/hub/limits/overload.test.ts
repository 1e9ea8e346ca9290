import { expect, test } from "vitest";
import { SelfFrames } from "../../model/self-frames.ts";
import { createLog } from "../../base/log.ts";
import { ReceiverCounts } from "../receive/receiver-counts.ts";
import { OverloadMonitor } from "./overload.ts";

function opened() {
  const lines: string[] = [];
  const received = new ReceiverCounts();
  let nowMs = 0;
  const log = createLog({
    level: "info",
    json: false,
    colour: false,
    nowMs: () => nowMs,
    write: (line) => lines.push(line),
  });
  const shedding = new OverloadMonitor({ log, nowMs: () => nowMs, received, manual: true });
  const pass = (ms: number): void => {
    nowMs += ms;
    shedding.check();
  };
  return { shedding, received, lines, pass };
}

test("an overload is logged once when it begins and once when it ends, and is a problem while it lasts", () => {
  const { shedding, received, lines, pass } = opened();
  pass(1_000);
  expect([lines, shedding.problems()]).toEqual([[], []]);
  for (let second = 0; second < 60; second++) {
    received.add("push", "busy_request", 2);
    shedding.shed("pages");
    pass(1_000);
  }
  expect(lines).toHaveLength(1);
  expect(shedding.problems()).toEqual([
    "overloaded: 120 requests, 60 pages refused, clients retry later",
  ]);
  pass(29_000);
  expect(shedding.problems()).toHaveLength(1);
  pass(1_000);
  expect(shedding.problems()).toEqual([]);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain("is over");
});

test("every kind is a counter of its own", () => {
  const { shedding, received } = opened();
  received.add("remote_write", "busy_request", 3);
  received.add("push", "stored", 9);
  shedding.shed("queries");
  shedding.shed("connections");
  const { layout, values } = new SelfFrames().at(0, [shedding.selfMetrics]);
  expect(
    layout.series.map(({ metric, labels }, at) => [metric.name, labels[0]?.[1], values[at]]),
  ).toEqual([
    ["gpulse_hub_shed_total", "requests", 3],
    ["gpulse_hub_shed_total", "queries", 1],
    ["gpulse_hub_shed_total", "pages", 0],
    ["gpulse_hub_shed_total", "connections", 1],
  ]);
});
