/** One GPU's activity over time: means since its last slow frame, and over the window used for its bound. */
import { type BoundInputs, type BoundWord, findBound } from "../../model/bound.ts";
import type { Frame } from "../../model/frame.ts";
import { presence } from "../../model/presence.ts";
import {
  type InputName,
  inputNames,
  inputs,
  type InputSlots,
  type InputSpec,
} from "./activity-inputs.ts";

/** Means of the shares, and the newest facts; inputs that were not read are missing. */
export type ActivityMeans = Readonly<Partial<Record<InputName, number>>>;

/** Bytes per second and lane in one direction, by PCIe generation, after line coding. */
const laneBytes = [0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9, 15.125e9];

export class DeviceActivity {
  readonly #windowMs: number;
  readonly #facts: Partial<Record<InputName, number>> = {};
  #sums = new Map<InputName, { sum: number; count: number }>();
  #periods: { readonly timeMs: number; readonly means: ActivityMeans }[] = [];
  /** The reason why the GPU's utilisation is not available, if it is not. */
  #busyState: number = presence.pending;
  /** Every bound word so far: a series that began is continued. */
  readonly words = new Set<BoundWord>(["idle"]);

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  get busyState(): number {
    return this.#busyState;
  }

  see(frame: Frame, slots: InputSlots): void {
    for (const [name, at] of slots) {
      const value = this.#read(frame, name, at);
      if (value === undefined) continue;
      if (inputs[name].kind === "fact") {
        this.#facts[name] = value;
        continue;
      }
      const known = this.#sums.get(name);
      if (known === undefined) this.#sums.set(name, { sum: value, count: 1 });
      else {
        known.sum += value;
        known.count++;
      }
    }
  }

  /** Ends the period since the previous slow frame, and returns its means. */
  finishPeriod(timeMs: number): ActivityMeans {
    const means: Partial<Record<InputName, number>> = { ...this.#facts };
    for (const [name, { sum, count }] of this.#sums) means[name] = sum / count;
    this.#sums = new Map();
    if (this.#busyState !== presence.present) this.#periods = [];
    // After the clock was set back, removes periods in the future.
    this.#periods = this.#periods.filter(
      (period) => period.timeMs > timeMs - this.#windowMs && period.timeMs < timeMs,
    );
    this.#periods.push({ timeMs, means });
    return means;
  }

  bound(): BoundWord | undefined {
    if (this.#busyState !== presence.present) return undefined;
    const word = findBound(boundInputs(this.#meansOfWindow()));
    if (word !== undefined) this.words.add(word);
    return word;
  }

  #meansOfWindow(): ActivityMeans {
    const means: Partial<Record<InputName, number>> = { ...this.#facts };
    for (const name of inputNames) {
      if (inputs[name].kind === "fact") continue;
      let [sum, count] = [0, 0];
      for (const period of this.#periods) {
        const value = period.means[name];
        if (value === undefined) continue;
        sum += value;
        count++;
      }
      if (count > 0) means[name] = sum / count;
    }
    return means;
  }

  #read(frame: Frame, name: InputName, slots: readonly number[]): number | undefined {
    const { sums }: InputSpec = inputs[name];
    let found: number | undefined;
    for (const slot of slots) {
      const state = frame.presence[slot] ?? presence.failed;
      if (name === "utilization" || name === "graphics") this.#noteBusy(name, state);
      if (state !== presence.present) continue;
      const value = frame.values[slot] ?? 0;
      found = found === undefined ? value : sums ? found + value : Math.max(found, value);
    }
    return found;
  }

  /** A GPU without GPM metrics uses its utilisation; one without utilisation, as in MIG mode, uses its GPM metrics. */
  #noteBusy(name: "utilization" | "graphics", state: number): void {
    const isAbsentGpm = name === "graphics" && state !== presence.present;
    if (isAbsentGpm && this.#busyState === presence.present) return;
    this.#busyState = state;
  }
}

/** Converts readings to shares: of the link's rate, and of the highest clock. */
function boundInputs(means: ActivityMeans): BoundInputs {
  const tensors = [means.tensor, means.tensorHalf, means.tensorFp64, means.tensorInt8].filter(
    (share) => share !== undefined,
  );
  const clock = means.clockSm ?? means.clockGraphics;
  const clockMax = means.clockSm === undefined ? means.clockMaxGraphics : means.clockMaxSm;
  return {
    busy: means.graphics ?? means.utilization,
    busiestDie: means.die,
    isPartitioned: (means.partitions ?? 1) > 1,
    sm: means.sm,
    tensor: tensors.length === 0 ? undefined : Math.max(...tensors),
    fp64: means.fp64,
    fp32: means.fp32,
    fp16: means.fp16,
    integer: means.integer,
    memory: means.dram ?? means.memoryController,
    link: linkShare(means),
    powerCapped: means.powerCapped,
    thermallyCapped: means.thermallyCapped,
    clock: clock === undefined || !clockMax ? undefined : clock / clockMax,
  };
}

function linkShare({
  pcie,
  pcieGeneration = 0,
  pcieWidth = 0,
  interconnect,
  interconnectBandwidth,
}: ActivityMeans): number | undefined {
  const pcieBytes = (laneBytes[pcieGeneration] ?? 0) * pcieWidth;
  const shares = [
    ...(pcie === undefined || pcieBytes === 0 ? [] : [pcie / pcieBytes]),
    ...(interconnect === undefined || !interconnectBandwidth
      ? []
      : [interconnect / interconnectBandwidth]),
  ];
  return shares.length === 0 ? undefined : Math.max(...shares);
}
