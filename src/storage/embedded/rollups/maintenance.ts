/**
 * Background work on rollups: rebuilds what late samples, deletions or damage made outdated, then rolls up the next
 * range of sealed samples. One manifest write adds a rollup and advances `rolledToMs`: after an earlier crash the work
 * is still to do, after a later one it is done.
 */
import { Block } from "../blocks/block.ts";
import type { BlockWorker, UnreadableSource } from "../blocks/job.ts";
import { byMetric } from "../order.ts";
import { ReplacedUnsyncedError } from "../../../base/state/atomic.ts";
import { changeState, type StoreState } from "../state.ts";
import { bucketEnd, bucketStart, rollAlignMs, seriesRef } from "./columns.ts";
import { goneBySeries, goneOfAll } from "./gone.ts";
import { columnsOf, hideBuckets } from "./outdated.ts";
import { isRebuildable } from "./rebuild.ts";
import { bytesOf } from "../retention.ts";
import { hasRollups } from "./retention.ts";
import {
  emptyRollups,
  type OutdatedRange,
  rollupBlocks,
  rollupFile,
  type RollupState,
  type RollupTier,
} from "./state.ts";

/** Samples may arrive this much later than those of other series without making a rollup outdated. */
const settleMs = 300_000;
/**
 * Few, larger rollups: a merge of rollups costs more than to make them. Eight of these exceed the longest 5-minute rollup, so
 * those are written once. Until then raw samples are read.
 */
const defaultRollEveryMs = 4 * 86_400_000;
/** As above, while the samples to roll up take a large share of the size limit, which removes raw samples in any case. */
const crowdedRollEveryMs = 86_400_000;
const crowdedShare = 1 / 8;
/** A folder whose rollups are missing or behind is processed in slices of this length. */
const sliceMs = 4 * 86_400_000;

export class RollupMaintenance {
  readonly #state: StoreState;
  readonly #workers: BlockWorker;
  readonly #isolate: (source: UnreadableSource) => void;
  rolled = 0;

  constructor(
    state: StoreState,
    workers: BlockWorker,
    isolate: (source: UnreadableSource) => void,
  ) {
    this.#state = state;
    this.#workers = workers;
    this.#isolate = isolate;
  }

  /** Call only from within the queue. */
  async round(): Promise<void> {
    const state = this.#state;
    if (!hasRollups(state.options)) return this.#forget();
    this.#replaceUnreadable();
    for (const range of state.rollups.outdated)
      if (!this.#hasUnreadable(range)) await this.#rollAgain(range);
    const next = nextSlice(state);
    if (next === undefined) return;
    await this.#roll(next.afterMs, next.toMs, undefined, () => ({ rolledToMs: next.toMs }));
  }

  /** True if raw samples of the range are unreadable now, or if the entries to replace are unknown. */
  #hasUnreadable({ fromMs, toMs }: OutdatedRange): boolean {
    const { quarantine, blocks } = this.#state;
    if (quarantine.unopenedAll.length > 0) return true;
    return quarantine.parts.some(
      ({ block }) =>
        block !== undefined &&
        blocks.includes(block) &&
        block.footer.minTimeMs <= toMs &&
        block.footer.maxTimeMs >= fromMs,
    );
  }

  /** Rebuilds an outdated range; for series of which rules have removed more, only from a later time on. */
  async #rollAgain(range: OutdatedRange): Promise<void> {
    const state = this.#state;
    const { rolledToMs = -Infinity } = state.rollups;
    const toMs = Math.min(bucketEnd(range.toMs, rollAlignMs), rolledToMs);
    const rawFromMs = oldestMs(state.blocks);
    const parts = this.#byGone(range)
      .map(({ goneBeforeMs, refs }) => ({
        refs,
        afterMs: Math.max(
          bucketStart(range.fromMs, rollAlignMs),
          // A bucket that retention has cut only exists as a rollup.
          goneBeforeMs === -Infinity
            ? bucketStart(rawFromMs, rollAlignMs)
            : bucketEnd(goneBeforeMs, rollAlignMs),
        ),
      }))
      .filter(({ afterMs }) => afterMs < toMs);
    const outdated = (rollups: RollupState): Partial<RollupState> => ({
      outdated: rollups.outdated.filter((one) => one !== range),
    });
    if (parts.length === 0)
      return changeState(state, { rollups: { ...state.rollups, ...outdated(state.rollups) } });
    for (const [i, { afterMs, refs }] of parts.entries())
      await this.#roll(afterMs, toMs, refs, i === parts.length - 1 ? outdated : () => ({}));
  }

  /**
   * The series of an outdated range, grouped by the time before which their raw samples are gone; `refs` is undefined
   * for all.
   */
  #byGone({ fromMs, toMs, refs }: OutdatedRange) {
    const { rules, rollups, goneBeforeMs, index, blocks } = this.#state;
    const gone = goneBySeries(rules, goneOfAll(goneBeforeMs, rollups), index);
    if (gone.size === 0) return [{ goneBeforeMs, refs }];
    const isIn = ({ footer }: Block): boolean =>
      footer.minTimeMs <= toMs && footer.maxTimeMs >= fromMs;
    const inRollups = rollups.tiers.flatMap((tier) => tier.blocks.filter(isIn));
    const all = refs ?? ascending([...blocks.filter(isIn).map(refsOf), ...inRollups.map(seriesOf)]);
    const groups = new Map<number, number[]>();
    for (const ref of all) {
      const beforeMs = gone.get(ref)?.rawMs ?? goneBeforeMs;
      const group = groups.get(beforeMs) ?? [];
      group.push(ref);
      groups.set(beforeMs, group);
    }
    return [...groups].map(([beforeMs, group]) => ({
      goneBeforeMs: beforeMs,
      refs: Uint32Array.from(group),
    }));
  }

  /**
   * Resets the state after rollups were turned off and their files deleted, so that they start from scratch if turned on
   * again.
   */
  #forget(): void {
    const { rollups } = this.#state;
    if (rollups.rolledToMs === undefined || rollupBlocks(rollups).length > 0) return;
    changeState(this.#state, { rollups: emptyRollups });
  }

  /** Rebuilds a rollup with a damaged page if the raw samples exist; otherwise keeps it. */
  #replaceUnreadable(): void {
    const state = this.#state;
    for (const { resolutionMs, blocks } of state.rollups.tiers)
      for (const block of blocks) {
        const { minTimeMs, maxTimeMs } = block.footer;
        if (!state.quarantine.has(block) || !isRebuildable(state, block)) continue;
        const { rollups } = state;
        changeState(state, {
          rollups: {
            ...rollups,
            outdated: [
              ...rollups.outdated,
              { fromMs: minTimeMs, toMs: maxTimeMs, refs: undefined },
            ],
            tiers: rollups.tiers.map((tier) =>
              tier.resolutionMs === resolutionMs
                ? { ...tier, blocks: tier.blocks.filter((one) => one !== block) }
                : tier,
            ),
          },
        });
        state.options.log.warn("a damaged rollup is made again from raw samples", {
          file: block.file,
        });
        block.remove();
      }
    state.quarantine.retain([...state.blocks, ...rollupBlocks(state.rollups)]);
  }

  /**
   * Rolls up the range (afterMs, toMs] and commits it together with `change`. If some raw samples were unreadable the
   * range is outdated from the start, because a restart forgets the quarantine, but not the manifest.
   */
  async #roll(
    afterMs: number,
    toMs: number,
    refs: Uint32Array | undefined,
    change: (rollups: RollupState) => Partial<RollupState>,
  ): Promise<void> {
    const state = this.#state;
    const raw = state.blocks.filter(
      ({ footer }) => footer.minTimeMs <= toMs && footer.maxTimeMs > afterMs,
    );
    const files = state.rollups.tiers.map(({ resolutionMs }) => {
      const id = state.nextBlock++;
      return { resolutionMs, id, file: rollupFile(state.options.dir, id, resolutionMs) };
    });
    const { parts, unreadable } = await this.#workers.run({
      blocks: raw.map(({ file, tombstones }) => ({ file, tombstones })),
      rollups: { afterMs, toMs, refs: await this.#ordered(raw, refs), files, sliceMs: 1_000 },
    });
    if (unreadable !== undefined) this.#isolate(unreadable);
    const made = files.map(({ file }, i) => {
      const part = parts[i];
      return part === undefined ? undefined : new Block(file, state.context, part);
    });
    const tiers = state.rollups.tiers.map((tier, i): RollupTier => {
      const block = made[i];
      const blocks = block === undefined ? tier.blocks : [...tier.blocks, block];
      return { ...tier, blocks, tombstones: [...tier.tombstones, ...hidden(tier, i)] };
    });
    function hidden(tier: RollupTier, i: number) {
      const before = tier.blocks.filter(
        ({ footer }) => footer.minTimeMs <= toMs && footer.maxTimeMs > afterMs,
      );
      if (before.length === 0) return [];
      const columns = columnsOf(refs ?? ascending(before.map(seriesOf)));
      const { resolutionMs, id } = files[i] as (typeof files)[number];
      return [hideBuckets(afterMs + 1, toMs, columns, resolutionMs, id)];
    }
    const rollups = { ...state.rollups, tiers, ...change(state.rollups) };
    const isPartial = unreadable !== undefined || state.quarantine.unopened.length > 0;
    const outdated = isPartial
      ? [...rollups.outdated, { fromMs: afterMs + 1, toMs, refs }]
      : rollups.outdated;
    try {
      changeState(state, { rollups: { ...rollups, outdated } });
    } catch (thrown) {
      if (!(thrown instanceof ReplacedUnsyncedError)) for (const block of made) block?.remove();
      throw thrown;
    }
    this.rolled++;
  }

  /** The series of these raw blocks, limited to `wanted` if given, grouped by metric. */
  #ordered(raw: readonly Block[], wanted: Uint32Array | undefined): Promise<Uint32Array> {
    const { index } = this.#state;
    const has = new Uint8Array(index.table.end);
    for (const block of raw) for (const ref of block.directory.refs) has[ref] = 1;
    if (wanted === undefined) return byMetric(index, (ref) => has[ref] === 1);
    for (const ref of wanted) if (has[ref] === 1) has[ref] = 2;
    return byMetric(index, (ref) => has[ref] === 2);
  }
}

/** The next range (afterMs, toMs] to roll up; undefined if none is due. */
function nextSlice(state: StoreState): { afterMs: number; toMs: number } | undefined {
  const { blocks, options, rollups } = state;
  const rolledToMs = rollups.rolledToMs ?? -Infinity;
  const ahead = blocks.filter(({ footer }) => footer.maxTimeMs > rolledToMs);
  if (ahead.length === 0) return undefined;
  const isCrowded = bytesOf(ahead) > (options.retentionBytes ?? Infinity) * crowdedShare;
  const longestMs = isCrowded ? crowdedRollEveryMs : defaultRollEveryMs;
  // Raw samples stay until they are rolled up, so a short retention needs shorter intervals.
  const { rollEveryMs = Math.min(longestMs, options.retentionMs / 8) } = options;
  const afterMs = Math.max(rolledToMs, bucketStart(oldestMs(ahead), rollAlignMs));
  const settledMs = settledToMs(state);
  if (settledMs - afterMs < rollEveryMs) return undefined;
  return { afterMs, toMs: Math.min(settledMs, afterMs + sliceMs) };
}

/**
 * Sealed samples up to here are considered complete. Uses the wall clock: the trusted time may be behind it for days,
 * and samples that are late because of a jump are rolled up again.
 */
export function settledToMs({ blocks, options }: StoreState): number {
  const newestMs = Math.max(...blocks.map(({ footer }) => footer.maxTimeMs));
  return bucketStart(Math.min(newestMs, options.nowMs()) - settleMs + 1, rollAlignMs);
}

const oldestMs = (blocks: readonly Block[]): number =>
  Math.min(...blocks.map(({ footer }) => footer.minTimeMs));

const refsOf = ({ directory }: Block): Uint32Array => directory.refs;
const seriesOf = ({ directory }: Block): Uint32Array => directory.refs.map(seriesRef);

/** Sorts and deduplicates. */
function ascending(lists: readonly Uint32Array[]): Uint32Array {
  const refs = new Set<number>();
  for (const list of lists) for (const ref of list) refs.add(ref);
  return Uint32Array.from(refs).sort();
}
