/** Type, help and unit of what is sent: as it was told, or as the catalogue has it. Bounded. */
import type { Metadata } from "../formats/samples/batch.ts";
import { metadataOf } from "../formats/samples/from-frame.ts";
import { findMetric } from "../model/catalogue/index.ts";

const maxFamilies = 10_000;
/** A receiver that forgot is told again. */
const againAfterMs = 600_000;
const suffix = /_(bucket|sum|count|total|info)$/;

export class Families {
  readonly #told = new Map<string, Metadata>();
  readonly #fresh = new Map<string, Metadata>();
  #againMs = -Infinity;

  learn(metadata: readonly Metadata[]): void {
    for (const one of metadata) {
      const known = this.#told.get(one.family);
      if (known === undefined && this.#told.size >= maxFamilies) continue;
      if (known?.type === one.type && known.help === one.help && known.unit === one.unit) continue;
      this.#told.set(one.family, one);
      this.#fresh.set(one.family, one);
    }
  }

  /** Of the family that a series of this name belongs to. */
  find(name: string): Metadata | undefined {
    const found = this.#told.get(name) ?? this.#told.get(name.replace(suffix, ""));
    if (found !== undefined) return found;
    const metric = findMetric(name) ?? findMetric(name.replace(suffix, ""));
    return metric === undefined ? undefined : metadataOf(metric);
  }

  /** What is new since the last time, and now and then everything. */
  due(nowMs: number): readonly Metadata[] {
    const all = nowMs - this.#againMs >= againAfterMs;
    const due = [...(all ? this.#told : this.#fresh).values()];
    if (all) this.#againMs = nowMs;
    this.#fresh.clear();
    return due;
  }

  /** The request that carried it was not taken: it comes with the next. */
  untold(metadata: readonly Metadata[]): void {
    for (const one of metadata) this.#fresh.set(one.family, one);
  }
}
