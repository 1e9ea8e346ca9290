// A source's frames as a plain record, for golden values: `gpu_power_watts` or `gpu_clock_hertz{domain="memory"}` to a value
// or the reason why there is none.

import type { Tier } from "../../src/model/catalogue/index.ts";
import type { Frame } from "../../src/model/frame.ts";
import { presenceNames } from "../../src/model/presence.ts";
import type { PolledSource } from "../../src/sources/source.ts";

export type Readings = Readonly<Record<string, number | string>>;

const identity = new Set(["uuid", "gpu", "host"]);

/** Where several cards are read, `gpu` picks one by its index. */
export function frameReadings(frame: Frame, gpu?: number): Readings {
  const readings: Record<string, number | string> = {};
  frame.layout.series.forEach(({ metric, labels }, slot) => {
    if (gpu !== undefined && Object.fromEntries(labels)["gpu"] !== String(gpu)) return;
    const own = labels.filter(([name]) => !identity.has(name));
    const text = own.map(([name, value]) => `${name}="${value}"`).join(",");
    const state = presenceNames[frame.presence[slot] ?? 4] ?? "failed";
    const key = text === "" ? metric.name : `${metric.name}{${text}}`;
    readings[key] = state === "present" ? (frame.values[slot] ?? 0) : state;
  });
  return readings;
}

const tiers: readonly Tier[] = ["fast", "slow", "static"];

/** Every tier at one instant. */
export async function readAll(source: PolledSource, timeMs: number, gpu?: number): Promise<Readings> {
  const all: Record<string, number | string> = {};
  for (const tier of tiers) {
    const frame = await source.read(tier, timeMs, new AbortController().signal);
    Object.assign(all, frameReadings(frame, gpu));
  }
  return all;
}
