/** Streams for the tests of this folder: simulated machines in virtual time, and one made-up GPU whose readings a test chooses. */
import { gpu, type MetricEntry, type Tier } from "../../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../../model/device.ts";
import { type Frame, FrameWriter } from "../../../model/frame.ts";
import { type Layout, LayoutBuilder } from "../../../model/layout.ts";
import { tierIntervals } from "../../../pipeline/pipeline.ts";
import { Emitter } from "../../../sources/sim/emit/emitter.ts";
import { SimFleet } from "../../../sources/sim/fleet/fleet.ts";
import { parseScenario } from "../../../sources/sim/scenario/load.ts";
import type { Anomaly, AnomalyChange } from "./anomaly.ts";
import { AnomalyWatch } from "./watch.ts";

export const startMs = Date.UTC(2026, 0, 5);

/** Every frame of a scenario, as a source gives them. */
export function* simulated(scenario: string, minutes: number, seed = 5): Generator<[Tier, Frame]> {
  const options = { seed, gpus: undefined, model: undefined };
  const fleet = new SimFleet(parseScenario(scenario, "test"), options, startMs);
  const emitter = new Emitter(fleet, "lab");
  const every = tierIntervals(1_000);
  for (let elapsedMs = 0; elapsedMs < minutes * 60_000; elapsedMs += 1_000) {
    fleet.advanceTo(elapsedMs);
    if (fleet.hangsForMs(elapsedMs) > 0) continue;
    for (const tier of ["static", "slow", "fast"] as const)
      if (elapsedMs % every[tier] === 0)
        yield [tier, emitter.frame(tier, startMs + elapsedMs, (virtualMs) => virtualMs)];
  }
}

export interface AnomalyWatchResult {
  readonly began: readonly Anomaly[];
  readonly changes: readonly AnomalyChange[];
  readonly watch: AnomalyWatch;
}

export function watchAll(frames: Iterable<Frame>): AnomalyWatchResult {
  const watch = new AnomalyWatch();
  const changes: AnomalyChange[] = [];
  watch.subscribe((change) => changes.push(change));
  for (const frame of frames) watch.take({ frame });
  const began = changes.flatMap(({ change, anomaly }) => (change === "began" ? [anomaly] : []));
  return { began, changes, watch };
}

export function watchSimulated(
  scenario: string,
  minutes: number,
  seed?: number,
): AnomalyWatchResult {
  return watchAll(framesOf(simulated(scenario, minutes, seed)));
}

function* framesOf(stream: Iterable<[Tier, Frame]>): Generator<Frame> {
  for (const [, frame] of stream) yield frame;
}

/** `gpu kind` of each, sorted. */
export const summary = (anomalies: readonly Anomaly[]): string[] =>
  anomalies.map(({ kind, device }) => `${device.gpu} ${kind}`).sort();

const card: Device = {
  uuid: "GPU-made-up",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
};

/** What a test gives at a second; what it leaves out is absent. */
export interface FixtureValues {
  readonly watts?: number;
  readonly utilization?: number;
  readonly celsius?: number;
  readonly memoryBytes?: number;
  readonly memoryUtilization?: number;
  readonly clockHertz?: number;
  readonly powerCapped?: number;
  readonly job?: string;
}

const memoryTotalBytes = 100e9;
const limitWatts = 700;

/** One GPU, second by second; nothing at a second for which the test gives nothing. */
export function* makeFrames(
  seconds: number,
  at: (second: number) => FixtureValues | undefined,
): Generator<Frame> {
  for (let second = 0; second < seconds; second++) {
    const given = at(second);
    if (given === undefined) continue;
    const timeMs = startMs + second * 1_000;
    if (second % 5 === 0) {
      yield frameOf(timeMs, [
        [gpu.powerLimit, limitWatts, {}],
        [gpu.memoryTotal, memoryTotalBytes, {}],
        ...(given.job === undefined ? [] : [[gpu.ownerInfo, 1, { workload: given.job }] as const]),
      ]);
    }
    yield frameOf(timeMs, [
      [gpu.power, given.watts, {}],
      [gpu.utilization, given.utilization, {}],
      [gpu.temperature, given.celsius, { sensor: "edge" }],
      [gpu.memoryUsed, given.memoryBytes, {}],
      [gpu.memoryControllerUtilization, given.memoryUtilization, {}],
      [gpu.clock, given.clockHertz, { domain: "graphics" }],
      [gpu.throttleActive, given.powerCapped, { reason: "power_cap" }],
    ]);
  }
}

type Row = readonly [MetricEntry, number | undefined, Readonly<Record<string, string>>];

/** As a source does: one layout for all frames of a shape. */
const layouts = new Map<string, Layout>();

function frameOf(timeMs: number, rows: readonly Row[]): Frame {
  const shape = rows.map(([metric, , labels]) => metric.name + JSON.stringify(labels)).join();
  let layout = layouts.get(shape);
  if (layout === undefined) {
    const builder = new LayoutBuilder();
    for (const [metric, , labels] of rows) builder.add(metric, deviceLabels(card, "lab", labels));
    builder.add(gpu.info, deviceInfoLabels(card, "lab"));
    layouts.set(shape, (layout = builder.build()));
  }
  const writer = new FrameWriter(layout, timeMs);
  rows.forEach(([, value], slot) => {
    if (value !== undefined) writer.set(slot, value);
  });
  writer.set(rows.length, 1);
  return writer.finish();
}
