/** topk, bottomk and limitk: some series of each group, unchanged. In instant queries topk and bottomk also sort them. */
import { byValue } from "../functions/sort.ts";
import type { EvalScope } from "../scope.ts";
import { isEmpty, type StepSeries } from "../value.ts";
import type { SeriesGroup } from "./group.ts";

export async function rankK(
  group: SeriesGroup,
  counts: Float64Array,
  largest: boolean,
  scope: EvalScope,
): Promise<readonly StepSeries[]> {
  const selected = group.series.map(({ present }) => new Uint8Array(present.length));
  let order: readonly number[] = [];
  for (let step = 0; step < scope.grid.count; step++) {
    if (scope.run.isDue()) await scope.run.breathe();
    const best = new RankHeap(Math.min(counts[step] ?? 0, group.series.length), largest);
    for (const [index, one] of group.series.entries()) {
      if (one.present[step] === 1) best.offer(index, one.values[step] ?? 0);
    }
    for (const index of best.indexes) selected[index]?.fill(1, step, step + 1);
    if (scope.grid.count === 1) order = best.sorted();
  }
  const masked = group.series.map((one, index) => ({
    ...one,
    present: selected[index] ?? one.present,
  }));
  if (scope.grid.count === 1) return order.flatMap((index) => masked[index] ?? []);
  return masked.filter((one) => !isEmpty(one));
}

/** A heap with the worst of the best at the top, sifted like Go's container/heap, so that ties are resolved the same way. */
class RankHeap {
  readonly indexes: number[] = [];
  private readonly values: number[] = [];
  private readonly size: number;
  private readonly largest: boolean;

  constructor(size: number, largest: boolean) {
    this.size = size;
    this.largest = largest;
  }

  offer(index: number, value: number): void {
    if (this.size < 1) return;
    if (this.indexes.length < this.size) {
      this.indexes.push(index);
      this.values.push(value);
      this.up(this.indexes.length - 1);
      return;
    }
    const worst = this.values[0] ?? 0;
    const better = this.largest ? worst < value : worst > value;
    if (!better && !(Number.isNaN(worst) && !Number.isNaN(value))) return;
    this.indexes[0] = index;
    this.values[0] = value;
    this.down();
  }

  sorted(): readonly number[] {
    const places = this.indexes.map((_, place) => place);
    places.sort((a, b) => byValue(this.values[a], this.values[b], !this.largest));
    return places.map((place) => this.indexes[place] ?? 0);
  }

  private less(a: number, b: number): boolean {
    const left = this.values[a] ?? 0;
    const right = this.values[b] ?? 0;
    return Number.isNaN(left) || (this.largest ? left < right : left > right);
  }

  private swap(a: number, b: number): void {
    [this.indexes[a], this.indexes[b]] = [this.indexes[b] ?? 0, this.indexes[a] ?? 0];
    [this.values[a], this.values[b]] = [this.values[b] ?? 0, this.values[a] ?? 0];
  }

  private up(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.less(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private down(): void {
    for (let at = 0; ;) {
      let child = 2 * at + 1;
      if (child >= this.indexes.length) return;
      if (child + 1 < this.indexes.length && this.less(child + 1, child)) child++;
      if (!this.less(child, at)) return;
      this.swap(child, at);
      at = child;
    }
  }
}

export function limitK(
  group: SeriesGroup,
  counts: Float64Array,
  scope: EvalScope,
): readonly StepSeries[] {
  const left = new Float64Array(scope.grid.count).map((_, step) => counts[step] ?? 0);
  scope.run.takeSeries(group.series.length, scope.grid.count / 9);
  const out = group.series.map((one) => ({
    ...one,
    present: one.present.map((present, step) => {
      if (present === 0 || (left[step] ?? 0) < 1) return 0;
      left[step] = (left[step] ?? 0) - 1;
      return present;
    }),
  }));
  return out.filter((one) => !isEmpty(one));
}
