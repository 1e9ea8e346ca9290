/**
 * Derives readings from the activity of a GPU's units: FLOP/s and bytes/s estimates for models with known rates, and the
 * resource that bounds the GPU's work. Both come with the slow readings. Messages of a log are not changed.
 */
import type { BoundWord } from "../../model/bound.ts";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { deviceKey } from "../../model/device.ts";
import { type Frame, isPlausible, roundTo } from "../../model/frame.ts";
import {
  type AssumedPrecision,
  estimateDramBytes,
  estimateFlops,
  type GpuRates,
  type Precision,
  ratesOf,
} from "../../model/gpu-rates.ts";
import { type LabelSet, labelSet, labelValue } from "../../model/labels.ts";
import type { Layout, Series } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import type { Delivery, Transform } from "../sink.ts";
import { type InputName, inputOf } from "./activity-inputs.ts";
import { type ActivityMeans, DeviceActivity } from "./device-activity.ts";

export interface ActivityOptions {
  /** Length of the window over which the bound is determined. */
  readonly windowMs?: number;
  /** The precision assumed for the matrix units if their counter does not separate precisions. */
  readonly precision?: AssumedPrecision;
}

export const defaultBoundWindowMs = 60_000;
/** Above this number of devices, those not seen for longest are dropped: a hub's exporters may invent GPUs. */
const mostDevices = 20_000;

interface Estimate {
  readonly metric: MetricEntry;
  readonly labels?: Readonly<Record<string, string>>;
  readonly from: InputName;
  readonly of: (rates: GpuRates, share: number, clockHertz: number) => number | undefined;
}

interface DevicePlan {
  readonly key: string;
  readonly inputs: ReadonlyMap<InputName, readonly number[]>;
  /** In a slow frame: the slots of the estimates and of the bound words. */
  readonly estimates: readonly { readonly slot: number; readonly estimate: Estimate }[];
  readonly words: readonly { readonly slot: number; readonly word: BoundWord }[];
  readonly isSlow: boolean;
}

interface Plan {
  readonly layout: Layout;
  readonly devices: readonly DevicePlan[];
  /** Number of bound words its GPUs had shown when the plan was made. */
  readonly wordCount: number;
}

export function createActivity({
  windowMs = defaultBoundWindowMs,
  precision = "bf16",
}: ActivityOptions = {}): Transform {
  const estimates = estimatesFor(precision);
  const plans = new WeakMap<Layout, Plan>();
  const activities = new Map<string, DeviceActivity>();
  const activityOf = (key: string): DeviceActivity => {
    const known = activities.get(key);
    // The map's order is that of the last use.
    activities.delete(key);
    const [oldest] = activities.size < mostDevices ? [] : activities.keys();
    if (oldest !== undefined) activities.delete(oldest);
    const activity = known ?? new DeviceActivity(windowMs);
    activities.set(key, activity);
    return activity;
  };
  const planOf = (layout: Layout): Plan => {
    const known = plans.get(layout);
    if (known !== undefined && known.wordCount === countWords(known.devices, activityOf))
      return known;
    const made = planLayout(layout, estimates, activityOf);
    plans.set(layout, made);
    return made;
  };
  return (delivery: Delivery): Delivery => {
    const { frame } = delivery;
    if (delivery.origin !== undefined) return delivery;
    const { devices } = planOf(frame.layout);
    if (devices.length === 0) return delivery;
    const bounds = new Map<string, BoundWord | undefined>();
    const means = new Map<string, ActivityMeans>();
    for (const { key, inputs, isSlow } of devices) {
      const activity = activityOf(key);
      activity.see(frame, inputs);
      if (!isSlow) continue;
      means.set(key, activity.finishPeriod(frame.timeMs));
      bounds.set(key, activity.bound());
    }
    if (means.size === 0) return delivery;
    // A bound word gets a series from its first appearance on.
    const plan = planOf(frame.layout);
    const rates = new Map(
      delivery.devices.map(({ uuid, model }) => [uuid, ratesOf(model)] as const),
    );
    return { ...delivery, frame: extend(frame, plan, { rates, means, bounds, activityOf }) };
  };
}

/** INT8 products are left out: their kernels keep the pipe active without filling it, so no constant factor relates the two. */
function estimatesFor(assumed: AssumedPrecision): readonly Estimate[] {
  const flops = (
    metric: MetricEntry,
    from: InputName,
    precision: Precision,
    labels?: Readonly<Record<string, string>>,
  ): Estimate => ({
    metric,
    from,
    ...(labels === undefined ? {} : { labels }),
    of: (rates, share, clockHertz) => estimateFlops(rates, precision, share, clockHertz),
  });
  return [
    flops(gpu.tensorFlopsEstimate, "tensorHalf", assumed, { precision: assumed }),
    flops(gpu.tensorFlopsEstimate, "tensorFp64", "fp64_tensor", { precision: "fp64" }),
    flops(gpu.fp32FlopsEstimate, "fp32", "fp32"),
    flops(gpu.fp64FlopsEstimate, "fp64", "fp64"),
    { metric: gpu.dramBytesEstimate, from: "dram", of: estimateDramBytes },
  ];
}

const countWords = (
  devices: readonly DevicePlan[],
  activityOf: (key: string) => DeviceActivity,
): number =>
  devices.reduce((sum, { key, isSlow }) => sum + (isSlow ? activityOf(key).words.size : 0), 0);

interface LayoutDevice {
  readonly identity: LabelSet;
  readonly inputs: Map<InputName, number[]>;
  isSlow: boolean;
  /** True if the source derived them already, for example an agent whose frames are forwarded. */
  hasBound: boolean;
}

function planLayout(
  layout: Layout,
  estimates: readonly Estimate[],
  activityOf: (key: string) => DeviceActivity,
): Plan {
  const found = new Map<string, LayoutDevice>();
  layout.series.forEach(({ metric, labels, derived }, slot) => {
    const uuid = labelValue(labels, "uuid");
    if (metric.subject !== "device" || metric.kind === "info" || uuid === undefined) return;
    const [index, host] = [labelValue(labels, "gpu"), labelValue(labels, "host")];
    const key = deviceKey(host ?? "", uuid);
    const device = found.get(key) ?? {
      identity: labelSet({ uuid, gpu: index, host }),
      inputs: new Map<InputName, number[]>(),
      isSlow: false,
      hasBound: false,
    };
    found.set(key, device);
    if (derived !== true && metric.tier === "slow") device.isSlow = true;
    if (metric === gpu.bound) device.hasBound = true;
    const input = inputOf(metric, labels);
    if (input !== undefined) device.inputs.set(input, [...(device.inputs.get(input) ?? []), slot]);
  });
  const series: Series[] = [...layout.series];
  const devices = [...found].flatMap(([key, device]): DevicePlan[] => {
    const { identity, inputs, isSlow, hasBound } = device;
    // Frames about a GPU from another source, such as its health, contain no activity.
    if (hasBound || inputs.size === 0) return [];
    const add = (metric: MetricEntry, labels: Readonly<Record<string, string>> = {}): number =>
      series.push({
        metric,
        suffix: "",
        labels: labelSet({ ...Object.fromEntries(identity), ...labels }),
        derived: true,
      }) - 1;
    return [
      {
        key,
        inputs,
        isSlow,
        estimates: estimates
          .filter(({ from }) => isSlow && inputs.has(from))
          .map((estimate) => ({ slot: add(estimate.metric, estimate.labels), estimate })),
        words: isSlow
          ? [...activityOf(key).words].map((word) => ({ slot: add(gpu.bound, { by: word }), word }))
          : [],
      },
    ];
  });
  return { layout: { series }, devices, wordCount: countWords(devices, activityOf) };
}

interface DerivedActivity {
  /** By UUID. */
  readonly rates: ReadonlyMap<string, GpuRates | undefined>;
  /** By `deviceKey`, like the fields below. */
  readonly means: ReadonlyMap<string, ActivityMeans>;
  readonly bounds: ReadonlyMap<string, BoundWord | undefined>;
  readonly activityOf: (key: string) => DeviceActivity;
}

function extend(
  frame: Frame,
  plan: Plan,
  { rates, means, bounds, activityOf }: DerivedActivity,
): Frame {
  const { series } = plan.layout;
  const values = new Float64Array(series.length);
  const states = new Uint8Array(series.length).fill(presence.unsupported);
  values.set(frame.values);
  states.set(frame.presence);
  for (const { key, inputs, estimates, words } of plan.devices) {
    const own = means.get(key);
    if (own === undefined) continue;
    const clockHertz = own.clockMeanSm ?? own.clockSm ?? own.clockGraphics;
    for (const { slot, estimate } of estimates) {
      const uuid = labelValue(series[slot]?.labels ?? [], "uuid") ?? "";
      const known = rates.get(uuid);
      const share = own[estimate.from];
      if (share === undefined) {
        // A derived value is absent for the same reason as its input.
        states[slot] = frame.presence[inputs.get(estimate.from)?.[0] ?? -1] ?? presence.failed;
        continue;
      }
      if (known === undefined || clockHertz === undefined) continue;
      const value = estimate.of(known, share, clockHertz);
      if (value === undefined || !isPlausible(estimate.metric, value)) continue;
      states[slot] = presence.present;
      values[slot] = roundTo(value, estimate.metric.resolution);
    }
    const bound = bounds.get(key);
    const { busyState } = activityOf(key);
    for (const { slot, word } of words) {
      states[slot] =
        bound !== undefined
          ? presence.present
          : busyState === presence.present
            ? presence.unsupported
            : busyState;
      values[slot] = Number(word === bound);
    }
  }
  return { ...frame, layout: plan.layout, values, presence: states };
}
