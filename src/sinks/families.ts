/** Type, help and unit of metric families, as received or from the catalogue. Bounded. */
import type { Metadata } from "../formats/samples/batch.ts";
import { metadataOf } from "../formats/samples/from-frame.ts";
import { findMetric } from "../model/catalogue/index.ts";

const maxFamilies = 10_000;
/** Metadata is sent again after this time, for a receiver that restarted. */
const againAfterMs = 600_000;
const suffix = /_(bucket|sum|count|total|info)$/;

export class Families {
  readonly #known = new Map<string, Metadata>();
  readonly #fresh = new Map<string, Metadata>();
  #againMs = -Infinity;

  learn(metadata: readonly Metadata[]): void {
    for (const one of metadata) {
      const known = this.#known.get(one.family);
      if (known === undefined && this.#known.size >= maxFamilies) continue;
      if (known?.type === one.type && known.help === one.help && known.unit === one.unit) continue;
      this.#known.set(one.family, one);
      this.#fresh.set(one.family, one);
    }
  }

  /** Returns the metadata of the family that a series of this name belongs to. */
  find(name: string): Metadata | undefined {
    const found = this.#known.get(name) ?? this.#known.get(name.replace(suffix, ""));
    if (found !== undefined) return found;
    const metric = findMetric(name) ?? findMetric(name.replace(suffix, ""));
    return metric === undefined ? undefined : metadataOf(metric);
  }

  /** Returns the families that are new since the last call, and every ten minutes all of them. */
  due(nowMs: number): readonly Metadata[] {
    const all = nowMs - this.#againMs >= againAfterMs;
    const due = [...(all ? this.#known : this.#fresh).values()];
    if (all) this.#againMs = nowMs;
    this.#fresh.clear();
    return due;
  }

  /** Marks metadata of a failed request as new, so that the next request carries it. */
  unsent(metadata: readonly Metadata[]): void {
    for (const one of metadata) this.#fresh.set(one.family, one);
  }
}
