/** Tracks which rollups differ from the raw samples because of late samples or deletions. */
import type { Block } from "../blocks/block.ts";
import type { Tombstone } from "../column-source.ts";
import { lowerBound } from "../index/postings.ts";
import { bucketEnd, bucketStart, columnRef, componentNames } from "./columns.ts";
import type { OutdatedRange, RollupState } from "./state.ts";

/** What a new raw block makes outdated: its series with samples from before `rolledToMs`. */
function outdatedBy(block: Block, { rolledToMs }: RollupState): readonly OutdatedRange[] {
  if (rolledToMs === undefined || block.footer.minTimeMs > rolledToMs) return [];
  const { directory, timebases } = block.parts;
  const refs: number[] = [];
  let [fromMs, toMs] = [Infinity, -Infinity];
  directory.refs.forEach((ref, entry) => {
    const timebase = directory.timebase[entry] as number;
    const firstMs = timebases.firstMs[timebase] as number;
    if (firstMs > rolledToMs) return;
    refs.push(ref);
    fromMs = Math.min(fromMs, firstMs);
    toMs = Math.max(toMs, Math.min(rolledToMs, timebases.lastMs[timebase] as number));
  });
  return refs.length === 0 ? [] : [{ fromMs, toMs, refs: Uint32Array.from(refs) }];
}

export const withOutdated = (rollups: RollupState, blocks: readonly Block[]): RollupState => ({
  ...rollups,
  outdated: [...rollups.outdated, ...blocks.flatMap((block) => outdatedBy(block, rollups))],
});

export const isOutdated = (
  outdated: readonly OutdatedRange[],
  ref: number,
  fromMs: number,
  toMs: number,
): boolean =>
  outdated.some(
    (range) =>
      range.fromMs <= toMs &&
      range.toMs >= fromMs &&
      (range.refs === undefined ||
        range.refs[lowerBound(range.refs, 0, range.refs.length, ref)] === ref),
  );

/** The columns of these series, in the same order. */
export function columnsOf(refs: Uint32Array): Uint32Array {
  const columns = new Uint32Array(refs.length * componentNames.length);
  let at = 0;
  for (const ref of refs) for (const name of componentNames) columns[at++] = columnRef(ref, name);
  return columns;
}

/** Hides all entries of buckets that overlap the range, in the current blocks. */
export const hideBuckets = (
  fromMs: number,
  toMs: number,
  columns: Uint32Array,
  resolutionMs: number,
  beforeBlock: number,
): Tombstone => ({
  fromMs: bucketStart(fromMs, resolutionMs) + 1,
  toMs: bucketEnd(toMs, resolutionMs),
  beforeBlock,
  refs: columns,
});

/** Hides the affected buckets of a deletion at once; their remaining samples are rolled up again from raw samples. */
export function deleteFromRollups(
  rollups: RollupState,
  { fromMs, toMs, beforeBlock, refs }: Tombstone,
): RollupState {
  if (rollups.rolledToMs === undefined || fromMs > rollups.rolledToMs) return rollups;
  const columns = columnsOf(refs);
  return {
    ...rollups,
    outdated: [...rollups.outdated, { fromMs, toMs, refs }],
    tiers: rollups.tiers.map((tier) => ({
      ...tier,
      tombstones: [
        ...tier.tombstones,
        hideBuckets(fromMs, toMs, columns, tier.resolutionMs, beforeBlock),
      ],
    })),
  };
}
