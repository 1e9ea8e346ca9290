import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { LatestFrames } from "./latest.ts";

function layout(uuid: string): Layout {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid }));
  return builder.build();
}

const delivery = (tier: Delivery["tier"], timeMs: number, of: Layout): Delivery => ({
  frame: new FrameWriter(of, timeMs).finish(),
  source: "s",
  tier,
  freshForMs: 5_000,
  devices: [],
});
const times = (latest: LatestFrames, nowMs: number): number[] =>
  latest.at(nowMs).map(({ frame }) => frame.timeMs);

test("keeps the newest frame of each tier, and never an older one", () => {
  const latest = new LatestFrames();
  const [one, two] = [layout("A"), layout("A")];
  latest.write(delivery("fast", 1_000, one));
  latest.write(delivery("slow", 1_000, one));
  latest.write(delivery("fast", 2_000, two));
  latest.write(delivery("fast", 1_500, one));
  expect(times(latest, 2_000)).toEqual([2_000, 1_000]);
});

test("a frame past its freshness is not given out", () => {
  const latest = new LatestFrames();
  latest.write(delivery("fast", 1_000, layout("A")));
  expect([times(latest, 6_000), times(latest, 6_001)]).toEqual([[1_000], []]);
});

test("a stream's tiers stand beside each other, and its old layouts are let go", () => {
  const latest = new LatestFrames();
  const [fast, slow] = [layout("A"), layout("A")];
  latest.write(delivery("stream", 1_000, fast));
  latest.write(delivery("stream", 1_000, slow));
  latest.write(delivery("stream", 2_000, fast));
  expect(times(latest, 2_000)).toEqual([2_000, 1_000]);
  for (let count = 0; count < 1_000; count++)
    latest.write(delivery("stream", 10_000 + count * 1_000, layout("A")));
  expect(times(latest, 1_009_000).length).toBeLessThan(10);
});
