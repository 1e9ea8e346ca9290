/** The health verdict over a recording of a real H200, second by second, as an agent would give it. */
import { gpu, type MetricEntry } from "../src/model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../src/model/device.ts";
import { FrameWriter } from "../src/model/frame.ts";
import { LayoutBuilder } from "../src/model/layout.ts";
import { HealthWatch } from "../src/view/health/watch.ts";
import { loadRecording } from "./sim-compare/load.ts";

const card: Device = {
  uuid: "GPU-recorded",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
};
const host = "recorded";
/** The H200's highest graphics clock, and the temperature at which it throttles. */
const clockMaxHertz = 1_980e6;
const slowdownCelsius = 87;

export interface RecordedVerdicts {
  readonly seconds: number;
  /** Seconds by state. */
  readonly states: Readonly<Record<string, number>>;
  readonly reasons: readonly string[];
}

export function judgeRecording(folder: string): RecordedVerdicts {
  const builder = new LayoutBuilder();
  const add = (metric: MetricEntry, labels: Readonly<Record<string, string>> = {}): number =>
    builder.add(metric, deviceLabels(card, host, labels));
  const up = add(gpu.up);
  const utilization = add(gpu.utilization);
  const edge = add(gpu.temperature, { sensor: "edge" });
  const margin = add(gpu.temperatureMargin);
  const clock = add(gpu.clock, { domain: "graphics" });
  const clockMax = add(gpu.clockMax, { domain: "graphics" });
  const powerCap = add(gpu.throttleActive, { reason: "power_cap" });
  const info = builder.add(gpu.info, deviceInfoLabels(card, host));
  const layout = builder.build();
  const watch = new HealthWatch({ acceptsVerdicts: false });
  const states: Record<string, number> = {};
  const reasons = new Set<string>();
  const { rows } = loadRecording(folder);
  let lastSecond = -1;
  for (const row of rows) {
    const second = Math.floor(row.timeMs / 1_000);
    if (second === lastSecond) continue;
    lastSecond = second;
    const writer = new FrameWriter(layout, row.timeMs);
    for (const [slot, value] of [
      [up, 1],
      [utilization, row.utilization],
      [edge, row.celsius],
      [margin, slowdownCelsius - row.celsius],
      [clock, row.smHertz],
      [clockMax, clockMaxHertz],
      [powerCap, Number(row.powerCapped)],
      [info, 1],
    ] as const)
      writer.set(slot, value);
    watch.take({ frame: writer.finish(), devices: [card] });
    const [verdict] = watch.report(row.timeMs)[0]?.gpus ?? [];
    if (verdict === undefined) continue;
    states[verdict.state] = (states[verdict.state] ?? 0) + 1;
    for (const { reason } of verdict.reasons) reasons.add(reason);
  }
  const seconds = Object.values(states).reduce((sum, count) => sum + count, 0);
  return { seconds, states, reasons: [...reasons] };
}
