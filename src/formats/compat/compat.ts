/**
 * Converts the newest frames to one more frame per compatibility table. Absent values stay absent, with their reason; reads no
 * source and stores no values.
 */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { type CellInput, type CompatCell, type CompatPlan, planCompat } from "./plan.ts";
import type { CompatTable, PresentReading } from "./row.ts";

/** A frame and the devices that its source has seen. */
export interface CompatInput {
  readonly frame: Frame;
  readonly devices: readonly Device[];
}

interface CachedPlans {
  readonly layouts: readonly Layout[];
  readonly devices: readonly (readonly Device[])[];
  /** The owner series that were present: jobs start and end without a new layout. */
  readonly owners: string;
  readonly plans: readonly CompatPlan[];
}

export class CompatFrames {
  readonly #tables: readonly CompatTable[];
  #kept: CachedPlans = { layouts: [], devices: [], owners: "", plans: [] };

  constructor(tables: readonly CompatTable[]) {
    this.#tables = tables;
  }

  /** One frame per table that has series; layouts stay the same objects as long as the inputs' layouts do. */
  of(inputs: readonly CompatInput[]): readonly Frame[] {
    if (this.#tables.length === 0 || inputs.length === 0) return [];
    const owners = presentOwners(inputs);
    if (!this.#fits(inputs, owners)) {
      this.#kept = {
        layouts: inputs.map(({ frame }) => frame.layout),
        devices: inputs.map(({ devices }) => devices),
        owners,
        plans: this.#tables
          .map((table) => planCompat(table, inputs))
          .filter(({ cells }) => cells.length > 0),
      };
    }
    const frames = inputs.map(({ frame }) => frame);
    return this.#kept.plans.map((plan) => fill(plan, frames));
  }

  #fits(inputs: readonly CompatInput[], owners: string): boolean {
    const { layouts, devices } = this.#kept;
    return (
      owners === this.#kept.owners &&
      inputs.length === layouts.length &&
      inputs.every(
        (input, index) =>
          input.frame.layout === layouts[index] && sameDevices(input.devices, devices[index] ?? []),
      )
    );
  }
}

function sameDevices(left: readonly Device[], right: readonly Device[]): boolean {
  if (left === right) return true;
  return (
    left.length === right.length &&
    left.every((device, index) => JSON.stringify(device) === JSON.stringify(right[index]))
  );
}

function presentOwners(inputs: readonly CompatInput[]): string {
  let seen = "";
  inputs.forEach(({ frame }, frameIndex) => {
    for (const slot of slotsOf(frame.layout, gpu.ownerInfo))
      if (frame.presence[slot] === presence.present) seen += `${frameIndex}.${slot} `;
  });
  return seen;
}

const ownerSlots = new WeakMap<Layout, readonly number[]>();

function slotsOf(layout: Layout, metric: MetricEntry): readonly number[] {
  let slots = ownerSlots.get(layout);
  if (slots === undefined) {
    slots = layout.series.flatMap((series, slot) => (series.metric === metric ? [slot] : []));
    ownerSlots.set(layout, slots);
  }
  return slots;
}

function fill(plan: CompatPlan, frames: readonly Frame[]): Frame {
  const values = new Float64Array(plan.cells.length);
  const states = new Uint8Array(plan.cells.length);
  let timeMs = 0;
  plan.cells.forEach((cell, slot) => {
    const answer = read(cell, frames);
    timeMs = Math.max(timeMs, answer.timeMs);
    values[slot] = answer.value;
    states[slot] = answer.state;
  });
  return { timeMs, layout: plan.layout, values, presence: states };
}

interface CellResult {
  readonly value: number;
  readonly state: number;
  readonly timeMs: number;
}

function read(
  { row, inputs, otherwise, anchor, second, about }: CompatCell,
  frames: readonly Frame[],
): CellResult {
  const preferred = collectInputs(inputs, frames);
  const { present, absent, timeMs } =
    preferred.present.length > 0 || otherwise.length === 0
      ? preferred
      : collectInputs(otherwise, frames);
  const missing = (state: number): CellResult => ({ value: 0, state, timeMs });
  if (present.length === 0) {
    if (row.whenNone === undefined || inputs.length > 0) return missing(absent ?? presence.failed);
    const given = collectInputs(anchor, frames);
    return given.present.some(({ value }) => value === 1)
      ? { value: row.whenNone.value, state: presence.present, timeMs }
      : missing(given.absent ?? presence.unsupported);
  }
  if (absent !== undefined && row.fold?.partial === false) return missing(absent);
  let value = row.fold?.of(present) ?? present[0]?.value;
  if (row.second !== undefined && value !== undefined) {
    const other = collectInputs(second, frames);
    const total = other.present.reduce((sum, one) => sum + one.value, 0);
    value = row.second.apply(value, other.present.length === 0 ? undefined : total);
    if (value === undefined) return missing(other.absent ?? presence.unsupported);
  }
  const converted =
    row.convert === undefined || value === undefined
      ? value
      : row.convert.write(value, { ...about, timeMs });
  return converted === undefined
    ? missing(presence.unsupported)
    : { value: converted, state: presence.present, timeMs };
}

/** The present readings, the reason of the first absent one, and the newest time of all. */
function collectInputs(inputs: readonly CellInput[], frames: readonly Frame[]) {
  const present: PresentReading[] = [];
  let absent: number | undefined;
  let timeMs = 0;
  for (const { frameIndex, slot, labels } of inputs) {
    const frame = frames[frameIndex];
    const state = frame?.presence[slot] ?? presence.failed;
    timeMs = Math.max(timeMs, frame?.timeMs ?? 0);
    if (state === presence.present)
      present.push({ value: frame?.values[slot] ?? Number.NaN, labels });
    else absent ??= state;
  }
  return { present, absent, timeMs };
}
