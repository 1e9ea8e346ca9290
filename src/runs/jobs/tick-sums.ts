/** Means of the readings between two ticks of a GPU. One array, because it is touched for every reading of every GPU. */
import { place } from "./layout-plan.ts";
import type { TickOwner } from "./tick.ts";

/** Sum and count of each, then both peaks. */
const at = { activity: 0, tensor: 2, dram: 4, memory: 6, ownerMemory: 8, peak: 10, ownerPeak: 11 };

export class TickSums {
  readonly #sums = new Float64Array(12);

  /** @param values readings by `place` */
  add(
    activityRatio: number | undefined,
    values: Float64Array,
    owners: readonly TickOwner[] | undefined,
  ): void {
    this.#add(at.activity, activityRatio);
    this.#add(at.tensor, values[place.tensorRatio]);
    this.#add(at.dram, values[place.dramRatio]);
    const memoryBytes = values[place.memoryBytes];
    this.#add(at.memory, memoryBytes);
    this.#grow(at.peak, memoryBytes);
    // With several owners every reading is a tick.
    if (owners?.length !== 1) return;
    const ownBytes = owners[0]?.memoryBytes;
    this.#add(at.ownerMemory, ownBytes);
    this.#grow(at.ownerPeak, ownBytes);
  }

  get activityRatio(): number | undefined {
    return this.#mean(at.activity);
  }

  get tensorRatio(): number | undefined {
    return this.#mean(at.tensor);
  }

  get dramRatio(): number | undefined {
    return this.#mean(at.dram);
  }

  get memoryBytes(): number | undefined {
    return this.#mean(at.memory);
  }

  /** Absent where there was one reading, which is its own peak. */
  get peakMemoryBytes(): number | undefined {
    return this.#peak(at.memory, at.peak);
  }

  ownersOf(last: readonly TickOwner[] | undefined): readonly TickOwner[] | undefined {
    const only = last?.length === 1 ? last[0] : undefined;
    if (only === undefined || (this.#sums[at.ownerMemory + 1] ?? 0) <= 1) return last;
    return [
      {
        labels: only.labels,
        memoryBytes: this.#mean(at.ownerMemory),
        peakMemoryBytes: this.#peak(at.ownerMemory, at.ownerPeak),
        utilizationRatio: only.utilizationRatio,
      },
    ];
  }

  clear(): void {
    this.#sums.fill(0);
  }

  #add(from: number, value: number | undefined): void {
    if (value === undefined || Number.isNaN(value)) return;
    this.#sums[from] = (this.#sums[from] ?? 0) + value;
    this.#sums[from + 1] = (this.#sums[from + 1] ?? 0) + 1;
  }

  #grow(from: number, value: number | undefined): void {
    if (value !== undefined && value > (this.#sums[from] ?? 0)) this.#sums[from] = value;
  }

  #mean(from: number): number | undefined {
    const count = this.#sums[from + 1] ?? 0;
    return count === 0 ? undefined : (this.#sums[from] ?? 0) / count;
  }

  #peak(from: number, peak: number): number | undefined {
    return (this.#sums[from + 1] ?? 0) <= 1 ? undefined : this.#sums[peak];
  }
}
