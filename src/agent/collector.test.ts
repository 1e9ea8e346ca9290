import { expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { gpu } from "../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../model/device.ts";
import { FrameWriter } from "../model/frame.ts";
import { LayoutBuilder } from "../model/layout.ts";
import { FakeClock } from "../../test/fixtures/fake-clock.ts";
import type { PolledSource } from "../sources/source.ts";
import { Collector } from "./collector.ts";

const card: Device = {
  uuid: "GPU-a",
  index: 0,
  vendor: "nvidia",
  model: "Card",
  simulated: false,
};

/** A source with one read, which takes `readMs`. */
function taking(readMs: number, clock: FakeClock): PolledSource {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, deviceLabels(card, "h"));
  const layout = builder.build();
  return {
    shape: "polled",
    tiers: ["slow"],
    deadlineMs: 60_000,
    devices: () => [card],
    read: (_tier, timeMs) =>
      new Promise((resolve) =>
        clock.after(readMs, () => {
          const writer = new FrameWriter(layout, timeMs);
          writer.set(0, 100);
          resolve(writer.finish());
        }),
      ),
    close: () => {},
  };
}

test.each([
  [100, 2_000, 1],
  [12_000, 12_100, 1],
  [50_000, 30_100, 0],
])(
  "a look of 2 s at a source that takes %i ms ends by %i ms with %i readings",
  async (readMs, byMs, readings) => {
    const clock = new FakeClock(0);
    const collector = new Collector({
      sources: [{ name: "slow", source: taking(readMs, clock) }],
      intervalMs: 200,
      hostName: "h",
      procfs: "/nowhere",
      version: "1",
      clock,
      log: silentLog,
    });
    collector.start();
    let ended = false;
    void collector.readFor(2_000, 30_000).then(() => (ended = true));
    await clock.advance(1_999);
    expect(ended).toBe(false);
    await clock.advance(byMs - 1_999);
    expect(ended).toBe(true);
    expect(collector.latest.at(clock.nowMs())).toHaveLength(readings);
    await collector.stop();
  },
);
