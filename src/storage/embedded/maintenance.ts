/**
 * Background work of the store: sealing the head into blocks, merging blocks, removing blocks past retention. One job at
 * a time. Failed jobs are retried later, and data is removed only after its replacement is on disk.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { formatError } from "../../base/error.ts";
import { Block, type BlockContext } from "./blocks/block.ts";
import type { BlockWorker, UnreadableSource } from "./blocks/job.ts";
import { type MergeLimits, planMerge } from "./blocks/plan.ts";
import { makeReserve } from "./files/reserve.ts";
import { collectGarbage, growYoungGenerationWithHeap } from "../../base/heap.ts";
import { defaultSealAfterMs, defaultSealLogBytes } from "./options.ts";
import { byMetric } from "./order.ts";
import { ReplacedUnsyncedError } from "../../base/state/atomic.ts";
import { describeUnreadable, unreadablePage } from "./quarantine.ts";
import {
  applyRetention,
  describeJump,
  rawBlocks,
  replaceOverdue,
  type RetainedBlocks,
  tierBlocks,
  toPlannedBlocks,
} from "./retention.ts";
import { seriesRef } from "./rollups/columns.ts";
import { columnsOf, withOutdated } from "./rollups/outdated.ts";
import { isRebuildable } from "./rollups/rebuild.ts";
import { isBriefRollup, rawMergeLimits, rollupMergeLimits } from "./rollups/retention.ts";
import { RollupMaintenance } from "./rollups/maintenance.ts";
import { rollupBlocks, rollupFile } from "./rollups/state.ts";
import { RuleRetention } from "./rule-retention.ts";
import { dropUnused, renewSeriesLog } from "./series-collection.ts";
import { reopenBlock } from "./open-blocks.ts";
import { blockFile, changeState, type StoreState, writeState } from "./state.ts";
import type { HeadEpoch } from "./head/head.ts";

/** A head that exceeds its memory is sealed early, but not below this size. */
const worthSealingBytes = 32 * 2 ** 20;
/**
 * Long chains of small chunks are slower to read than a block, so a head with this many samples, and this many per
 * series, is sealed.
 */
const manySamples = 2_000_000;
const longChain = 512;
const seriesPerSlice = 20_000;
/** Sealing writes the whole head, so the next attempt after a failure waits this long. */
const retrySealAfterMs = 30_000;
/** Sealing fewer bytes does not trigger a garbage collection. */
const worthCollectingBytes = 4 * 2 ** 20;
/** Interval for storing the trusted time: after a kill, retention may restart this much earlier than it had reached. */
const storeTrustedEveryMs = 600_000;

export class Maintenance {
  readonly #state: StoreState;
  readonly #workers: BlockWorker;
  readonly #seriesDropped: () => void;
  #sealedAtMs: number;
  #queue: Promise<unknown> = Promise.resolve();
  #hasJumped = false;
  #retrySealAtMs = 0;
  /** True after a failed sync of the series log: it is unknown which of its data is on disk. */
  #isSeriesLogSuspect = false;
  readonly rollups: RollupMaintenance;
  readonly #rules: RuleRetention;
  seals = 0;
  compactions = 0;

  constructor(state: StoreState, workers: BlockWorker, seriesDropped: () => void) {
    this.#state = state;
    this.#workers = workers;
    this.#seriesDropped = seriesDropped;
    this.#sealedAtMs = state.monotonicMs();
    this.#rules = new RuleRetention(state);
    this.rollups = new RollupMaintenance(state, workers, (source) => this.#isolate(source));
  }

  /** Runs after all jobs queued before it. */
  enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /** Runs every job that is due. */
  round(): Promise<void> {
    growYoungGenerationWithHeap();
    const state = this.#state;
    return this.enqueue(async () => {
      try {
        this.#watchClock();
        if (state.failures.isFull && applyRetention(state, true)) await this.#dropSeries();
        if (this.#isSealDue()) await this.seal();
        await this.tidy();
        const isStale = state.retentionNowMs() - state.storedTrustedMs >= storeTrustedEveryMs;
        if (isStale || state.failures.get("start") !== undefined) changeState(state, {});
        makeReserve(state.options.dir);
        for (const kind of ["start", "upkeep"] as const) state.failures.clear(kind);
      } catch (thrown) {
        state.failures.add("upkeep", "upkeep of the store fails and is retried", thrown);
      }
    });
  }

  /** Writes everything appended so far to a block. Call only from within the queue. */
  async seal(): Promise<void> {
    const { head, wal, failures } = this.#state;
    const unsynced = failures.get("sync");
    this.#retrySealAtMs = this.#state.monotonicMs() + retrySealAfterMs;
    // Epochs whose sealing failed before come first.
    let bytes = 0;
    const sealOne = async (epoch: HeadEpoch): Promise<void> => {
      bytes += epoch.epoch.byteLength;
      await this.#sealEpoch(epoch);
    };
    for (const epoch of head.frozen) await sealOne(epoch);
    if (head.active.samples > 0) await sealOne(head.cut(wal.cut()));
    if (bytes >= worthCollectingBytes) setImmediate(collectGarbage);
    this.#sealedAtMs = this.#state.monotonicMs();
    // Log data that may not have reached the disk is in a block now.
    if (unsynced !== undefined && failures.get("sync") === unsynced) failures.clear("sync");
    this.#retrySealAtMs = 0;
  }

  /** Applies retention, updates rollups, then merges until no merge is due. Call only from within the queue. */
  async tidy(): Promise<void> {
    const state = this.#state;
    if (applyRetention(state, state.failures.isFull)) await this.#dropSeries();
    this.#retryUnreadable();
    this.#rules.apply();
    await this.rollups.round();
    await this.#mergeAll({
      retained: () => rawBlocks(state),
      file: (id) => blockFile(state.options.dir, id),
      refs: (blocks) => this.#refsOf(blocks),
      limits: rawMergeLimits(state),
    });
    for (const { resolutionMs } of state.rollups.tiers)
      await this.#mergeAll({
        retained: () => tierBlocks(state, resolutionMs),
        file: (id) => rollupFile(state.options.dir, id, resolutionMs),
        refs: async (blocks) => columnsOf(await this.#refsOf(blocks, seriesRef)),
        limits: rollupMergeLimits(resolutionMs),
        isBrief: (level) => isBriefRollup(resolutionMs, level),
      });
  }

  async #mergeAll(kind: MergedKind): Promise<void> {
    const { quarantine } = this.#state;
    for (;;) {
      const { blocks, cutoffMs, retentionMs } = kind.retained();
      const readable = blocks.filter((block) => !quarantine.has(block));
      const planned = toPlannedBlocks(readable);
      const merge = planMerge(planned, cutoffMs, retentionMs, kind.limits);
      if (merge.length === 0) return;
      await this.#merge(
        kind,
        merge.map(({ block }) => block),
      );
    }
  }

  /** Stores the trusted time, from which retention resumes after a restart. */
  storeTrustedTime(): void {
    const state = this.#state;
    if (state.retentionNowMs() !== state.storedTrustedMs) changeState(state, {});
  }

  /** Logs a jump of the wall clock, which retention ignores. */
  #watchClock(): void {
    const { clock, options } = this.#state;
    const { jumpMs } = clock;
    if ((jumpMs !== undefined) === this.#hasJumped) return;
    this.#hasJumped = jumpMs !== undefined;
    if (jumpMs === undefined) options.log.info("the clock agrees with the trusted time again");
    else options.log.warn(describeJump(jumpMs));
  }

  /** A log of this size is sealed. The log counts toward the size limit, and only blocks can be removed. */
  get #sealLogBytes(): number {
    const { sealLogBytes = defaultSealLogBytes, retentionBytes = Infinity } = this.#state.options;
    return Math.min(sealLogBytes, retentionBytes / 8);
  }

  #isSealDue(): boolean {
    const { head, wal, options, failures } = this.#state;
    const { samples, series } = head.active;
    if (this.#state.monotonicMs() < this.#retrySealAtMs) return false;
    if (head.frozen.length > 0 || failures.get("sync") !== undefined) return true;
    if (samples === 0) return false;
    return (
      (samples >= manySamples && samples >= series * longChain) ||
      wal.bytesSinceCut >= this.#sealLogBytes ||
      this.#state.monotonicMs() - this.#sealedAtMs >= (options.sealAfterMs ?? defaultSealAfterMs) ||
      (head.active.byteLength > options.memoryBytes && wal.bytesSinceCut >= worthSealingBytes)
    );
  }

  async #sealEpoch(frozen: HeadEpoch): Promise<void> {
    const state = this.#state;
    const view = frozen.epoch.view();
    const { inOrder, late } = view;
    const refs = await byMetric(
      state.index,
      (ref) => (inOrder.count[ref] ?? 0) > 0 || (late?.count[ref] ?? 0) > 0,
    );
    const built = await this.#build(refs, (id) => blockFile(state.options.dir, id), {
      epoch: view,
      expectedSamples: frozen.epoch.samples,
    });
    const blocks = built === "unreadable" ? [] : built;
    try {
      await this.#persistSeries();
      const next = state.head.epochs[state.head.frozen.indexOf(frozen) + 1];
      changeState(state, {
        blocks: [...state.blocks, ...blocks],
        rollups: withOutdated(state.rollups, blocks),
        walFrom: next?.epoch.firstSegment ?? state.walFrom,
      });
    } catch (thrown) {
      discardUnlessNamed(blocks, thrown);
      throw thrown;
    }
    state.head.forgetEpoch(frozen);
    state.wal.truncate(state.walFrom);
    this.seals++;
  }

  /** In slices: after a first start there may be hundreds of thousands of series. */
  async #persistSeries(): Promise<void> {
    const state = this.#state;
    if (this.#isSeriesLogSuspect || state.pendingRewrite !== undefined) renewSeriesLog(state);
    this.#isSeriesLogSuspect = false;
    if (state.seriesLog.isHeld) writeState(state);
    while (state.unpersisted.length > 0) {
      state.seriesLog.add(state.index, state.unpersisted.slice(0, seriesPerSlice));
      state.unpersisted = state.unpersisted.slice(seriesPerSlice);
      await nextTurn();
    }
    await state.seriesLog.sync().catch((thrown: unknown) => {
      this.#isSeriesLogSuspect = true;
      throw thrown;
    });
  }

  /** Merges several blocks into one, or rewrites one without samples that are deleted or past retention. */
  async #merge(kind: MergedKind, blocks: readonly Block[]): Promise<void> {
    const [first] = blocks;
    const hadDeleted = blocks.some((block) => block.tombstones.length > 0);
    const overdue = blocks.length === 1 && !hadDeleted ? first : undefined;
    const leavesOut = hadDeleted || overdue !== undefined;
    const { cutoffMs } = kind.retained();
    const level = Math.max(...blocks.map((block) => block.footer.level)) + 1;
    const done = await this.#build(await kind.refs(blocks), kind.file, {
      blocks: blocks.map(({ file, tombstones }) => ({ file, tombstones })),
      level,
      notBeforeMs: overdue === undefined ? 0 : Math.max(0, cutoffMs),
      isBrief: kind.isBrief?.(level) ?? false,
      expectedSamples: leavesOut
        ? undefined
        : blocks.reduce((sum, { footer }) => sum + footer.samples, 0),
    });
    if (done === "unreadable") return;
    const retained = kind.retained();
    try {
      if (overdue !== undefined) replaceOverdue(this.#state, retained, overdue, done);
      else
        retained.change({
          blocks: [...retained.blocks.filter((block) => !blocks.includes(block)), ...done],
        });
    } catch (thrown) {
      discardUnlessNamed(done, thrown);
      throw thrown;
    }
    if (overdue === undefined) for (const block of blocks) block.remove();
    this.compactions++;
    if (hadDeleted) await this.#dropSeries();
  }

  /** Columns with lost labels come last. They are kept, because the labels may be recovered. */
  async #refsOf(
    blocks: readonly Block[],
    toSeries = (column: number): number => column,
  ): Promise<Uint32Array> {
    const { index } = this.#state;
    const wanted = new Uint8Array(index.table.end);
    for (const block of blocks)
      for (const column of block.directory.refs) wanted[toSeries(column)] = 1;
    const known = await byMetric(index, (ref) => wanted[ref] === 1);
    for (const ref of known) wanted[ref] = 0;
    const unknown: number[] = [];
    for (let ref = 0; ref < wanted.length; ref++) if (wanted[ref] === 1) unknown.push(ref);
    const refs = new Uint32Array(known.length + unknown.length);
    refs.set(known);
    refs.set(unknown, known.length);
    return refs;
  }

  /**
   * Returns the new block, or none if nothing is left to write. A source that cannot be read is quarantined and nothing
   * changes.
   */
  async #build(
    refs: Uint32Array,
    fileOf: (id: number) => string,
    from: {
      epoch?: ReturnType<HeadEpoch["epoch"]["view"]>;
      blocks?: readonly { file: string; tombstones: Block["tombstones"] }[];
      level?: number;
      notBeforeMs?: number;
      isBrief?: boolean;
      expectedSamples: number | undefined;
    },
  ): Promise<readonly Block[] | "unreadable"> {
    const state = this.#state;
    const { level = 0, notBeforeMs = 0, isBrief = false, expectedSamples, ...sources } = from;
    const id = state.nextBlock++;
    const file = fileOf(id);
    const { parts, unreadable } = await this.#workers.run({
      ...sources,
      order: { file, id, level, refs, notBeforeMs, expectedSamples, isBrief, sliceMs: 1_000 },
    });
    if (unreadable !== undefined) {
      this.#isolate(unreadable);
      return "unreadable";
    }
    const [made] = parts;
    return made === undefined ? [] : [new Block(file, state.context, made)];
  }

  #isolate({ file, page, why }: UnreadableSource): void {
    const { blocks, rollups, quarantine, options } = this.#state;
    const block = [...blocks, ...rollupBlocks(rollups)].find((one) => one.file === file);
    if (block === undefined)
      throw new Error(`BUG: ${file} was merged and is no block of the store`);
    const part = unreadablePage(block, page, why);
    if (!quarantine.add(part)) return;
    if (blocks.includes(block) || !isRebuildable(this.#state, block))
      options.log.error(describeUnreadable(part));
  }

  /** Retries parts that could not be read before. */
  #retryUnreadable(): void {
    const state = this.#state;
    const { quarantine, options } = state;
    quarantine.retain([...state.blocks, ...rollupBlocks(state.rollups)]);
    for (const part of quarantine.due()) {
      const { block, page, file } = part;
      if (block === undefined) {
        if (!reopenBlock(state, part)) continue;
      } else {
        const why = page === undefined ? reopenFailure(file, state.context) : block.recheck(page);
        if (why !== undefined) {
          quarantine.add({ ...part, why });
          continue;
        }
        quarantine.remove(part);
        // Rollups made in the meantime lack its samples.
        if (state.blocks.includes(block))
          changeState(state, { rollups: withOutdated(state.rollups, [block]) });
      }
      options.log.info("a part of the store can be read again", { file, page });
    }
  }

  async #dropSeries(): Promise<void> {
    const dropped = await dropUnused(this.#state, this.#seriesDropped);
    if (dropped === 0) return;
    this.#state.options.log.debug("series without samples were dropped", { series: dropped });
  }
}

/** A kind of blocks that are merged with each other. */
interface MergedKind {
  retained(): RetainedBlocks;
  readonly file: (id: number) => string;
  /** The columns of the merged block, in their order in the file. */
  refs(blocks: readonly Block[]): Promise<Uint32Array>;
  readonly limits?: MergeLimits;
  readonly isBrief?: (level: number) => boolean;
}

/** Removes new blocks that are not in any manifest, because the manifest could not be written. */
function discardUnlessNamed(blocks: readonly Block[], thrown: unknown): void {
  if (thrown instanceof ReplacedUnsyncedError) return;
  for (const block of blocks) block.remove();
}

/** Returns why a block's file cannot be opened; undefined if it can. */
function reopenFailure(file: string, context: BlockContext): string | undefined {
  try {
    new Block(file, context).release();
    return undefined;
  } catch (thrown) {
    return formatError(thrown);
  }
}
