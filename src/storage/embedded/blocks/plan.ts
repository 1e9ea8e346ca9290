/** Decides which blocks to merge and which to remove. Reads and writes nothing. */

export interface PlannedBlock {
  readonly id: number;
  readonly bytes: number;
  readonly samples: number;
  readonly minTimeMs: number;
  readonly maxTimeMs: number;
  /** True if the file still contains deleted samples. */
  readonly hasDeleted: boolean;
}

/** This many blocks of about one size are merged into one. */
const defaultTogether = 4;
/** A block with fewer samples is small, whatever time it spans. */
export const smallSamples = 2_000_000;
/** A block is rewritten if a larger share of it is past retention. */
export const overdueShare = 0.1;

export const isOverdue = (
  { minTimeMs }: Pick<PlannedBlock, "minTimeMs">,
  cutoffMs: number,
  retentionMs: number,
): boolean => minTimeMs < cutoffMs - retentionMs * overdueShare;

export interface MergeLimits {
  /** Maximum time span of a block, unless it is small. */
  readonly longestMs?: number;
  /** Number of blocks that are merged into one. */
  readonly together?: number;
  /** Blocks with samples after this are only merged with each other. */
  readonly apartAfterMs?: number;
}

/** Retention removes whole blocks, so none may span much of it unless it is small. */
const longestBlockMs = (retentionMs: number): number =>
  Math.max(7_200_000, Math.min(31 * 86_400_000, retentionMs / 8));

/** The next blocks to merge, or none. A single block is rewritten to remove samples that are deleted or past retention. */
export function planMerge<B extends PlannedBlock>(
  blocks: readonly B[],
  cutoffMs: number,
  retentionMs: number,
  {
    longestMs = longestBlockMs(retentionMs),
    together = defaultTogether,
    apartAfterMs = Infinity,
  }: MergeLimits = {},
): readonly B[] {
  const stained = blocks.find((block) => block.hasDeleted);
  if (stained !== undefined) return [stained];
  const overdue = blocks.find((block) => isOverdue(block, cutoffMs, retentionMs));
  if (overdue !== undefined) return [overdue];
  const tiers = new Map<number, B[]>();
  for (const block of [...blocks].sort((a, b) => a.minTimeMs - b.minTimeMs)) {
    const size = Math.max(0, Math.floor(Math.log2(block.samples / 65_536) / 2));
    const tier = size * 2 + Number(block.maxTimeMs > apartAfterMs);
    const same = tiers.get(tier) ?? [];
    const first = same[0];
    const fits =
      first === undefined ||
      Math.max(block.maxTimeMs, ...same.map((one) => one.maxTimeMs)) - first.minTimeMs <=
        longestMs ||
      same.reduce((sum, one) => sum + one.samples, block.samples) <= smallSamples;
    if (!fits) tiers.set(tier, [block]);
    else {
      same.push(block);
      tiers.set(tier, same);
      if (same.length === together) return same;
    }
  }
  return [];
}

export interface Removal<B> {
  readonly block: B;
  readonly why: "time" | "size";
}

/** Blocks that are entirely past retention, or the oldest ones if the store exceeds its size limit. */
export function planRemoval<B extends PlannedBlock>(
  blocks: readonly B[],
  cutoffMs: number,
  retentionBytes: number,
): readonly Removal<B>[] {
  const oldestFirst = [...blocks].sort((a, b) => a.maxTimeMs - b.maxTimeMs);
  let total = oldestFirst.reduce((sum, block) => sum + block.bytes, 0);
  const removals: Removal<B>[] = [];
  for (const block of oldestFirst) {
    const isOld = block.maxTimeMs < cutoffMs;
    if (!isOld && total <= retentionBytes) break;
    removals.push({ block, why: isOld ? "time" : "size" });
    total -= block.bytes;
  }
  return removals;
}
