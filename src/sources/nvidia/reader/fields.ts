/**
 * Reads many values in one call: nvmlDeviceGetFieldValues over a prepared Buffer. Each field has its own return code and its own retry.
 */
import { code, isUnsupported, presenceOf } from "../nvml/codes.ts";
import type { Nvml } from "../nvml/library.ts";
import { fieldValue, readFieldValue } from "../nvml/structs.ts";
import type { LatestValues } from "./latest-values.ts";
import type { NvmlCard } from "./card.ts";
import { nextRetryMs, type Task } from "./task.ts";

export interface NvmlField {
  readonly id: number;
  readonly scope?: number;
  readonly slot: number;
  /** Factor from the driver's unit to the catalogue's unit. */
  readonly scale?: number;
  /** True if the value only grows, so that reading it less often loses nothing. */
  readonly isCounter?: boolean;
  /** True if cards without the sensor report 0. */
  readonly zeroIsAbsent?: boolean;
}

export class FieldBatch implements Task {
  readonly name: string;
  everyMs: number;
  dueMs = 0;
  costMs = 0;
  readonly fields: readonly NvmlField[];
  readonly #nvml: Nvml;
  readonly #card: NvmlCard;
  readonly #board: LatestValues;
  readonly #random: () => number;
  readonly #retryAtMs: Float64Array;
  #pending: NvmlField[] = [];
  #buffer = Buffer.alloc(0);
  #nextRetryMs = 0;

  constructor(
    draft: {
      readonly name: string;
      readonly everyMs: number;
      readonly board: LatestValues;
      readonly fields: readonly NvmlField[];
    },
    nvml: Nvml,
    card: NvmlCard,
    random: () => number,
  ) {
    this.name = draft.name;
    this.everyMs = draft.everyMs;
    this.fields = draft.fields;
    this.#board = draft.board;
    this.#nvml = nvml;
    this.#card = card;
    this.#random = random;
    this.#retryAtMs = new Float64Array(draft.fields.length);
  }

  /** A separate batch of these fields of the same card. */
  split(name: string, everyMs: number, fields: readonly NvmlField[]): FieldBatch {
    const draft = { name, everyMs, board: this.#board, fields };
    return new FieldBatch(draft, this.#nvml, this.#card, this.#random);
  }

  run(nowMs: number): number {
    if (nowMs >= this.#nextRetryMs) this.#prepare(nowMs);
    if (this.#pending.length === 0) return code.notSupported;
    const got = this.#nvml.nvmlDeviceGetFieldValues(
      this.#card.handle,
      this.#pending.length,
      this.#buffer,
    );
    if (got !== code.success) {
      for (const { slot } of this.#pending) this.#board.absent(slot, presenceOf(got), nowMs);
      return got;
    }
    return this.#file(nowMs);
  }

  #file(nowMs: number): number {
    let worst: number = code.success;
    let isLost = false;
    for (let index = 0; index < this.#pending.length; index++) {
      const field = this.#pending[index];
      if (field === undefined) continue;
      const at = index * fieldValue.bytes;
      const got = this.#buffer.readUInt32LE(at + fieldValue.code);
      if (got !== code.success) {
        this.#board.absent(field.slot, presenceOf(got), nowMs);
        if (isUnsupported(got)) {
          this.#retryAtMs[this.fields.indexOf(field)] = nextRetryMs(nowMs, this.#random);
          isLost = true;
        } else worst = got;
        continue;
      }
      const value = readFieldValue(this.#buffer, at);
      if (Number.isNaN(value) || (value === 0 && field.zeroIsAbsent === true))
        this.#board.absent(field.slot, presenceOf(999), nowMs);
      else this.#board.set(field.slot, value * (field.scale ?? 1), nowMs);
    }
    if (isLost) this.#nextRetryMs = 0;
    return worst;
  }

  /** Prepares the buffer with the fields to read; unsupported ones wait for their retry. */
  #prepare(nowMs: number): void {
    this.#pending = this.fields.filter((_, index) => (this.#retryAtMs[index] ?? 0) <= nowMs);
    this.#nextRetryMs = Number.POSITIVE_INFINITY;
    for (const retryMs of this.#retryAtMs)
      if (retryMs > nowMs) this.#nextRetryMs = Math.min(this.#nextRetryMs, retryMs);
    this.#buffer = Buffer.alloc(this.#pending.length * fieldValue.bytes);
    this.#pending.forEach(({ id, scope }, index) => {
      this.#buffer.writeUInt32LE(id, index * fieldValue.bytes + fieldValue.id);
      this.#buffer.writeUInt32LE(scope ?? 0, index * fieldValue.bytes + fieldValue.scope);
    });
  }
}
