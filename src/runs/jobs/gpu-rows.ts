/**
 * Numbers of all GPUs that `FrameTicks` follows, one row per GPU in one array: every reading of every GPU accesses them, and an
 * object per GPU would cost a cache miss per number.
 */

/** First the newest readings, in the order of `plainMetrics`; then sums and counts of the readings since the last tick. */
export const column = {
  hardwareJoules: 0,
  integratedJoules: 1,
  smRatio: 2,
  tensorRatio: 3,
  dramRatio: 4,
  memoryBytes: 5,
  /** Sum and count over fast frames since the last reading. */
  utilization: 6,
  /** When the GPU last reported anything. */
  reportMs: 8,
  /** The last reading. */
  readMs: 9,
  readJoules: 10,
  tickMs: 11,
  /** Since the last tick. */
  idleMs: 12,
  idleSinceMs: 13,
  activity: 14,
  tensor: 16,
  dram: 18,
  memory: 20,
  ownerMemory: 22,
  peakMemory: 24,
  peakOwnerMemory: 25,
  ownerUtilization: 26,
} as const;
const width = 27;
/** The number of columns, from the first, that hold the newest readings unchanged. */
export const plainColumns = 6;
const firstRows = 64;

export class GpuRows {
  #numbers = new Float64Array(firstRows * width);
  #rows = 0;
  readonly #free: number[] = [];

  /** Replaced when a row is added: do not keep a reference. */
  get numbers(): Float64Array {
    return this.#numbers;
  }

  /** Returns the index of the new row, filled with NaN. */
  add(): number {
    const row = this.#free.pop() ?? this.#rows++ * width;
    if (row + width > this.#numbers.length) {
      const larger = new Float64Array(2 * this.#numbers.length);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers.fill(Number.NaN, row, row + width);
    this.#numbers.fill(0, row + column.utilization, row + column.utilization + 2);
    this.clearSums(row);
    return row;
  }

  remove(row: number): void {
    this.#free.push(row);
  }

  /** @param to the column of a sum, followed by its count */
  addTo(row: number, to: number, value: number): void {
    if (Number.isNaN(value)) return;
    const numbers = this.#numbers;
    numbers[row + to] = (numbers[row + to] ?? 0) + value;
    numbers[row + to + 1] = (numbers[row + to + 1] ?? 0) + 1;
  }

  grow(row: number, to: number, value: number): void {
    // False for NaN.
    if (value > (this.#numbers[row + to] ?? 0)) this.#numbers[row + to] = value;
  }

  mean(row: number, of: number): number | undefined {
    const count = this.#numbers[row + of + 1] ?? 0;
    return count === 0 ? undefined : (this.#numbers[row + of] ?? 0) / count;
  }

  /** Undefined for a single reading, which is its own peak. */
  peak(row: number, of: number, peak: number): number | undefined {
    return (this.#numbers[row + of + 1] ?? 0) <= 1 ? undefined : this.#numbers[row + peak];
  }

  clearSums(row: number): void {
    this.#numbers.fill(0, row + column.activity, row + column.ownerUtilization);
    this.#numbers[row + column.idleMs] = 0;
    this.#numbers[row + column.idleSinceMs] = Number.NaN;
  }
}
