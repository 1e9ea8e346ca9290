import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { RecentPower } from "./power.ts";

const startMs = 1_700_000_000_000;

function layoutOf(...uuids: string[]) {
  const builder = new LayoutBuilder();
  for (const uuid of uuids) {
    const labels = labelSet({ uuid, host: "n1" });
    builder.add(gpu.temperature, labels);
    builder.add(gpu.power, labels);
  }
  return builder.build();
}

function open() {
  const power = new RecentPower();
  const layout = layoutOf("A", "B");
  const write = (timeMs: number, first: number, second?: number): void => {
    const writer = new FrameWriter(layout, timeMs);
    writer.set(1, first);
    if (second !== undefined) writer.set(3, second);
    power.write({ frame: writer.finish(), source: "s", tier: "fast", freshForMs: 1, devices: [] });
  };
  return { power, write };
}

test("the average covers the last minute of each GPU, and an absent reading does not count", () => {
  const { power, write } = open();
  for (let second = 0; second < 300; second++)
    write(startMs + second * 1_000, second, second === 299 ? 50 : undefined);
  const nowMs = startMs + 299_000;
  expect(power.average("n1", "A", nowMs)).toEqual({
    watts: (240 + 299) / 2,
    windowSeconds: 59,
    samples: 60,
  });
  expect(power.average("n1", "B", nowMs)).toEqual({ watts: 50, windowSeconds: 0, samples: 1 });
  expect(power.average("n1", "A", nowMs + 60_000)).toBeUndefined();
  expect(power.average("n2", "A", nowMs)).toBeUndefined();
});

test("of more than 1,200 readings in a minute the newest are kept", () => {
  const { power, write } = open();
  for (let at = 0; at < 3_000; at++) write(startMs + at, at < 1_800 ? 500 : 100);
  expect(power.average("n1", "A", startMs + 3_000)).toMatchObject({ watts: 100, samples: 1_200 });
});
