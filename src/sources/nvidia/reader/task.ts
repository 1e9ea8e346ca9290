/** One NVML call as a schedulable task: what it fills, what it costs, and when an unsupported one is retried. */
import { code, isUnsupported, presenceOf } from "../nvml/codes.ts";
import { SENTINEL_MARK } from "../protocol.ts";
import type { LatestValues } from "./latest-values.ts";

export interface Task {
  readonly name: string;
  /** 0 means in every fast pass. */
  everyMs: number;
  dueMs: number;
  /** The cheapest of a few measured runs; 0 before that. */
  costMs: number;
  /** True after the first of two samples; the second must not be read before `dueMs`. */
  needsAnother?(): boolean;
  /** Makes the call and stores its values. Returns NVML's code, from which the caller detects a lost GPU. */
  run(nowMs: number): number;
}

/** An unsupported field is retried after this time, so that one bad result does not disable it for good. */
const retryAfterMs = 60_000;

/** Adds jitter, so that the fields of many GPUs are not all retried in the same pass. */
export function nextRetryMs(nowMs: number, random: () => number): number {
  return nowMs + retryAfterMs * (0.9 + 0.2 * random());
}

export class ReadTask implements Task {
  readonly name: string;
  everyMs: number;
  dueMs = 0;
  costMs = 0;
  readonly #board: LatestValues;
  readonly #slots: readonly number[];
  readonly #read: (out: Float64Array) => number;
  readonly #out: Float64Array;
  readonly #random: () => number;
  #retryAtMs = 0;

  /** `read` makes the call, fills one value per slot (NaN if the device reported nothing usable) and returns NVML's code. */
  constructor(
    name: string,
    everyMs: number,
    target: { readonly board: LatestValues; readonly slots: readonly number[] },
    read: (out: Float64Array) => number,
    random: () => number,
  ) {
    this.name = name;
    this.everyMs = everyMs;
    this.#board = target.board;
    this.#slots = target.slots;
    this.#read = read;
    this.#out = new Float64Array(target.slots.length);
    this.#random = random;
  }

  run(nowMs: number): number {
    if (nowMs < this.#retryAtMs) return code.notSupported;
    const got = this.#read(this.#out);
    const slots = this.#slots;
    if (got !== code.success) {
      const why = presenceOf(got);
      for (const slot of slots) this.#board.absent(slot, why, nowMs);
      if (isUnsupported(got)) this.#retryAtMs = nextRetryMs(nowMs, this.#random);
      return got;
    }
    for (let index = 0; index < slots.length; index++) {
      const value = this.#out[index] ?? Number.NaN;
      const slot = slots[index] ?? 0;
      if (value === SENTINEL_MARK) this.#board.reject(slot, nowMs);
      else if (Number.isNaN(value)) this.#board.absent(slot, presenceOf(999), nowMs);
      else this.#board.set(slot, value, nowMs);
    }
    return got;
  }
}
