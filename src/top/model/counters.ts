/** Rates and sums of a GPU's counters: NVLink or XGMI traffic per second, and energy since the program started. */
import { type Gpu, read } from "../../view/gpu.ts";
import type { ColumnKey, WireValue } from "../../view/live/protocol.ts";

export interface GpuCounters {
  /** Bytes per second over the links to other GPUs; `stale` until the counter has increased, or stayed constant for `HOLD_MS`. */
  readonly interconnectRx: WireValue;
  readonly interconnectTx: WireValue;
  /** Joules since the first reading this program received. */
  readonly energy: WireValue;
}

/** Slow counters are read less often than the screen is drawn: an equal value counts as new only after this long. */
const HOLD_MS = 12_000;

const unknown: GpuCounters = {
  interconnectRx: "stale",
  interconnectTx: "stale",
  energy: "stale",
};

interface RateState {
  value: number;
  atMs: number;
  perSecond: number | undefined;
}

interface GpuCounterState {
  readonly rates: Map<ColumnKey, RateState>;
  energyKey: ColumnKey | undefined;
  energyLast: number;
  energyJoules: number;
  result: GpuCounters;
}

export class CounterMemory {
  readonly #states = new Map<string, GpuCounterState>();

  update(gpus: readonly Gpu[]): void {
    for (const gpu of gpus) {
      const state = this.#states.get(gpu.id) ?? newState();
      this.#states.set(gpu.id, state);
      state.result = {
        interconnectRx: rate(state, gpu, "interconnectRxTotal"),
        interconnectTx: rate(state, gpu, "interconnectTxTotal"),
        energy: energySince(state, gpu),
      };
    }
    if (this.#states.size <= gpus.length) return;
    const present = new Set(gpus.map(({ id }) => id));
    for (const id of this.#states.keys()) if (!present.has(id)) this.#states.delete(id);
  }

  of(gpu: Gpu): GpuCounters {
    return this.#states.get(gpu.id)?.result ?? unknown;
  }
}

const newState = (): GpuCounterState => ({
  rates: new Map(),
  energyKey: undefined,
  energyLast: 0,
  energyJoules: 0,
  result: unknown,
});

function rate({ rates }: GpuCounterState, gpu: Gpu, key: ColumnKey): WireValue {
  const value = read(gpu, key);
  if (typeof value !== "number") {
    rates.delete(key);
    return value;
  }
  const atMs = gpu.timeMs - (gpu.row.ageMs.slow ?? 0);
  const before = rates.get(key);
  // The counter decreased, so it was reset, and its rate starts over.
  if (before === undefined || value < before.value) {
    rates.set(key, { value, atMs, perSecond: undefined });
    return "stale";
  }
  const elapsedMs = atMs - before.atMs;
  if (elapsedMs > 0 && (value > before.value || elapsedMs >= HOLD_MS)) {
    before.perSecond = ((value - before.value) * 1_000) / elapsedMs;
    before.value = value;
    before.atMs = atMs;
  }
  return before.perSecond ?? "stale";
}

/** The integrated counter changes every tick; a device scraped from another exporter may only have the hardware counter. */
const energyKeys = ["energyIntegratedTotal", "energyTotal"] as const;

function energySince(state: GpuCounterState, gpu: Gpu): WireValue {
  if (state.energyKey === undefined) {
    state.energyKey = energyKeys.find((key) => typeof read(gpu, key) === "number");
    if (state.energyKey === undefined) return read(gpu, "energyTotal");
    state.energyLast = Number(read(gpu, state.energyKey));
  }
  const value = read(gpu, state.energyKey);
  if (typeof value !== "number") return state.energyJoules > 0 ? state.energyJoules : value;
  // After a reset the counter starts at 0, so the whole value is new energy.
  state.energyJoules += value < state.energyLast ? value : value - state.energyLast;
  state.energyLast = value;
  return state.energyJoules;
}
