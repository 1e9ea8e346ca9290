/**
 * Derives vendor-independent readings for each GPU: memory used ratio, margin to the slowdown temperature, and energy
 * integrated from power. A reading that the vendor reports itself is kept. Messages of a log are not changed, because
 * derived values would depend on where the reader began.
 */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { type Frame, isPlausible, roundTo } from "../../model/frame.ts";
import { type LabelSet, labelSet, labelValue } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery, Transform } from "../sink.ts";

/** Slots of a device's inputs in a layout; -1 for an input that is not in it. */
interface DevicePlan {
  /** `deviceKey` of the device's host and UUID. */
  readonly key: string;
  readonly memoryUsed: number;
  readonly power: number;
  /** The sensor that is compared with the slowdown limit: the hotspot if reported, otherwise the edge. */
  readonly hottest: number;
  readonly ratioSlot: number;
  readonly marginSlot: number;
  readonly energySlot: number;
}

interface Plan {
  readonly layout: Layout;
  readonly devices: readonly DevicePlan[];
}

/** Readings of a slower tier that a faster one needs. */
interface SlowerReadings {
  memoryTotalBytes?: number;
  slowdownCelsius?: number;
}

export function createDerive(): Transform {
  const plans = new WeakMap<Layout, Plan>();
  const known = new Map<string, SlowerReadings>();
  const energy = new EnergyIntegral();
  return (delivery: Delivery): Delivery => {
    const { frame } = delivery;
    if (delivery.origin !== undefined) return delivery;
    remember(frame, known);
    let plan = plans.get(frame.layout);
    if (plan === undefined) {
      plan = planLayout(frame.layout);
      plans.set(frame.layout, plan);
    }
    if (plan.devices.length === 0) return delivery;
    return { ...delivery, frame: extend(frame, plan, known, energy, delivery.freshForMs) };
  };
}

function remember(frame: Frame, known: Map<string, SlowerReadings>): void {
  frame.layout.series.forEach((series, slot) => {
    const isTotal = series.metric === gpu.memoryTotal;
    const isSlowdown =
      series.metric === gpu.temperatureLimit && labelValue(series.labels, "limit") === "slowdown";
    if ((!isTotal && !isSlowdown) || frame.presence[slot] !== presence.present) return;
    const key = keyOf(series.labels);
    const entry = known.get(key) ?? {};
    const value = frame.values[slot] ?? 0;
    known.set(
      key,
      isTotal ? { ...entry, memoryTotalBytes: value } : { ...entry, slowdownCelsius: value },
    );
  });
}

const keyOf = (labels: LabelSet): string =>
  deviceKey(labelValue(labels, "host") ?? "", labelValue(labels, "uuid") ?? "");

function planLayout(layout: Layout): Plan {
  const series: Series[] = [...layout.series];
  const bySlot = new Map<string, { labels: LabelSet; slots: Map<string, number> }>();
  layout.series.forEach(({ metric, labels }, slot) => {
    if (metric.subject !== "device") return;
    const key = keyOf(labels);
    const identity = labelSet({
      uuid: labelValue(labels, "uuid") ?? "",
      gpu: labelValue(labels, "gpu"),
      host: labelValue(labels, "host"),
    });
    const entry = bySlot.get(key) ?? { labels: identity, slots: new Map<string, number>() };
    const sensor = metric === gpu.temperature ? `:${labelValue(labels, "sensor")}` : "";
    entry.slots.set(metric.name + sensor, slot);
    bySlot.set(key, entry);
  });
  const devices: DevicePlan[] = [];
  for (const [key, { labels, slots }] of bySlot) {
    const at = (metric: MetricEntry, suffix = ""): number => slots.get(metric.name + suffix) ?? -1;
    const add = (metric: MetricEntry, input: number): number =>
      input < 0 || at(metric) >= 0
        ? -1
        : series.push({ metric, suffix: "", labels, derived: true }) - 1;
    const memoryUsed = at(gpu.memoryUsed);
    const power = at(gpu.power);
    const hotspot = at(gpu.temperature, ":hotspot");
    const hottest = hotspot >= 0 ? hotspot : at(gpu.temperature, ":edge");
    const plan = {
      key,
      memoryUsed,
      power,
      hottest,
      ratioSlot: add(gpu.memoryUsedRatio, memoryUsed),
      marginSlot: add(gpu.temperatureMargin, hottest),
      energySlot: add(gpu.energyIntegrated, power),
    };
    if (plan.ratioSlot >= 0 || plan.marginSlot >= 0 || plan.energySlot >= 0) devices.push(plan);
  }
  return { layout: { series }, devices };
}

function extend(
  frame: Frame,
  plan: Plan,
  known: Map<string, SlowerReadings>,
  energy: EnergyIntegral,
  freshForMs: number,
): Frame {
  const { length } = plan.layout.series;
  const values = new Float64Array(length);
  const states = new Uint8Array(length).fill(presence.unsupported);
  values.set(frame.values);
  states.set(frame.presence);
  /** A derived value is absent for the same reason as its input. */
  const put = (
    slot: number,
    metric: MetricEntry,
    input: number,
    compute: (reading: number) => number | undefined,
  ): void => {
    if (slot < 0) return;
    const state = frame.presence[input] ?? presence.failed;
    states[slot] = state;
    if (state !== presence.present) return;
    const value = compute(frame.values[input] ?? 0);
    if (value === undefined || !isPlausible(metric, value)) {
      states[slot] = value === undefined ? presence.unsupported : presence.failed;
      return;
    }
    values[slot] = roundTo(value, metric.resolution);
  };
  for (const device of plan.devices) {
    const facts = known.get(device.key);
    put(device.ratioSlot, gpu.memoryUsedRatio, device.memoryUsed, (usedBytes) =>
      facts?.memoryTotalBytes ? usedBytes / facts.memoryTotalBytes : undefined,
    );
    put(device.marginSlot, gpu.temperatureMargin, device.hottest, (celsius) =>
      facts?.slowdownCelsius === undefined ? undefined : facts.slowdownCelsius - celsius,
    );
    put(device.energySlot, gpu.energyIntegrated, device.power, (watts) =>
      energy.add(device.key, frame.timeMs, watts, freshForMs),
    );
  }
  return { timeMs: frame.timeMs, layout: plan.layout, values, presence: states };
}

interface EnergyState {
  timeMs: number;
  watts: number;
  joules: number;
}

/** Integrates power over time into joules, per device. Gaps are not interpolated: power during a gap is not counted. */
export class EnergyIntegral {
  readonly #running = new Map<string, EnergyState>();

  /** Adds a reading and returns the energy so far (trapezoids between neighbouring readings). */
  add(device: string, timeMs: number, watts: number, longestGapMs: number): number {
    const state = this.#running.get(device);
    if (state === undefined) {
      this.#running.set(device, { timeMs, watts, joules: 0 });
      return 0;
    }
    const gapMs = timeMs - state.timeMs;
    if (gapMs > 0 && gapMs <= longestGapMs)
      state.joules += ((state.watts + watts) / 2) * (gapMs / 1_000);
    // A clock that was set back starts a new stretch; the counter itself never falls.
    state.timeMs = timeMs;
    state.watts = watts;
    return state.joules;
  }
}
