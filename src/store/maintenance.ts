/**
 * What happens behind ingest: sealing the head into blocks, merging blocks, letting go of what is past retention. One thing
 * at a time; whatever fails is tried again later, and nothing is forgotten before its successor is on the disk.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sayError } from "../errors/error.ts";
import { Block } from "./blocks/block.ts";
import { planMerge, planRemoval } from "./blocks/plan.ts";
import type { Workshop } from "./blocks/workshop.ts";
import { collectGarbage, letYoungFollowHeap } from "./heap.ts";
import { defaultSealAfterMs, defaultSealLogBytes } from "./options.ts";
import { byMetric } from "./order.ts";
import { dropUnused } from "./series-collection.ts";
import type { StoreState } from "./state.ts";
import { blockFile, changeState } from "./state.ts";
import type { HeadEpoch } from "./head/head.ts";

/** A head too large for the memory it may take is sealed early, but not before it holds this much to seal. */
const worthSealingBytes = 32 * 2 ** 20;
/** Reading long chains of small chunks is slower than reading a block: from this many samples, and so many a series, it is sealed. */
const manySamples = 2_000_000;
const longChain = 512;
const seriesPerSlice = 20_000;
/** A head smaller than this waits for the collector to come by itself. */
const worthCollectingBytes = 4 * 2 ** 20;

export class Maintenance {
  readonly #state: StoreState;
  readonly #workshop: Workshop;
  readonly #seriesDropped: () => void;
  #sealedAtMs: number;
  #queue: Promise<unknown> = Promise.resolve();
  seals = 0;
  compactions = 0;

  constructor(state: StoreState, workshop: Workshop, seriesDropped: () => void) {
    this.#state = state;
    this.#workshop = workshop;
    this.#seriesDropped = seriesDropped;
    this.#sealedAtMs = state.options.nowMs();
  }

  /** Runs after everything that was asked for before. */
  enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  /** One round of everything that is due. */
  round(): Promise<void> {
    letYoungFollowHeap();
    return this.enqueue(async () => {
      try {
        if (this.#isSealDue()) await this.seal();
        await this.tidy();
      } catch (thrown) {
        this.#state.options.log.warn(
          `upkeep of the store failed and is tried again: ${sayError(thrown)}`,
        );
      }
    });
  }

  /** Everything appended so far goes into a block. Only from within the queue. */
  async seal(): Promise<void> {
    const { head, wal } = this.#state;
    // One that could not be sealed before comes first.
    let bytes = 0;
    const sealOne = async (epoch: HeadEpoch): Promise<void> => {
      bytes += epoch.epoch.byteLength;
      await this.#sealEpoch(epoch);
    };
    for (const epoch of head.frozen) await sealOne(epoch);
    if (head.active.samples > 0) await sealOne(head.cut(wal.cut()));
    if (bytes >= worthCollectingBytes) setImmediate(collectGarbage);
    this.#sealedAtMs = this.#state.options.nowMs();
  }

  /** Retention, then merges until none is due. Only from within the queue. */
  async tidy(): Promise<void> {
    this.#remove();
    for (;;) {
      const merge = planMerge(this.#planned(), this.#cutoffMs, this.#state.options.retentionMs);
      if (merge.length === 0) return;
      await this.#merge(merge.map(({ block }) => block));
    }
  }

  #isSealDue(): boolean {
    const { head, wal, options } = this.#state;
    const { samples, series } = head.active;
    if (head.frozen.length > 0) return true;
    if (samples === 0) return false;
    return (
      (samples >= manySamples && samples >= series * longChain) ||
      wal.bytesSinceCut >= (options.sealLogBytes ?? defaultSealLogBytes) ||
      options.nowMs() - this.#sealedAtMs >= (options.sealAfterMs ?? defaultSealAfterMs) ||
      (head.active.byteLength > options.memoryBytes && wal.bytesSinceCut >= worthSealingBytes)
    );
  }

  get #cutoffMs(): number {
    return this.#state.options.nowMs() - this.#state.options.retentionMs;
  }

  #planned() {
    return this.#state.blocks.map((block) => ({
      block,
      id: block.id,
      bytes: block.bytes,
      samples: block.footer.samples,
      minTimeMs: block.footer.minTimeMs,
      maxTimeMs: block.footer.maxTimeMs,
      hasDeleted: block.tombstones.length > 0,
    }));
  }

  async #sealEpoch(frozen: HeadEpoch): Promise<void> {
    const state = this.#state;
    const view = frozen.epoch.view();
    const { inOrder, late } = view;
    const refs = await byMetric(
      state.index,
      (ref) => (inOrder.count[ref] ?? 0) > 0 || (late?.count[ref] ?? 0) > 0,
    );
    const block = await this.#build(refs, { epoch: view });
    try {
      await this.#persistSeries();
      const next = state.head.epochs[state.head.frozen.indexOf(frozen) + 1];
      changeState(state, {
        blocks: block === undefined ? state.blocks : [...state.blocks, block],
        walFrom: next?.epoch.firstSegment ?? state.walFrom,
      });
    } catch (thrown) {
      block?.remove();
      throw thrown;
    }
    state.head.forgetEpoch(frozen);
    state.wal.truncate(state.walFrom);
    this.seals++;
  }

  /** In slices: after a first start there may be hundreds of thousands. */
  async #persistSeries(): Promise<void> {
    const state = this.#state;
    while (state.unpersisted.length > 0) {
      state.seriesLog.add(state.index, state.unpersisted.slice(0, seriesPerSlice));
      state.unpersisted = state.unpersisted.slice(seriesPerSlice);
      await nextTurn();
    }
    await state.seriesLog.sync();
  }

  async #merge(blocks: readonly Block[]): Promise<void> {
    const state = this.#state;
    const wanted = new Uint8Array(state.index.table.end);
    for (const block of blocks) for (const ref of block.directory.refs) wanted[ref] = 1;
    const refs = await byMetric(state.index, (ref) => wanted[ref] === 1);
    const hadDeleted = blocks.some((block) => block.tombstones.length > 0);
    const merged = await this.#build(refs, {
      blocks: blocks.map(({ file, tombstones }) => ({ file, tombstones })),
      level: Math.max(...blocks.map((block) => block.footer.level)) + 1,
    });
    const rest = state.blocks.filter((block) => !blocks.includes(block));
    try {
      changeState(state, { blocks: merged === undefined ? rest : [...rest, merged] });
    } catch (thrown) {
      merged?.remove();
      throw thrown;
    }
    for (const block of blocks) block.remove();
    this.compactions++;
    if (hadDeleted || blocks.length === 1) this.#dropSeries();
  }

  async #build(
    refs: Uint32Array,
    from: {
      epoch?: ReturnType<HeadEpoch["epoch"]["view"]>;
      blocks?: readonly { file: string; tombstones: Block["tombstones"] }[];
      level?: number;
    },
  ): Promise<Block | undefined> {
    const state = this.#state;
    const { level = 0, ...sources } = from;
    const id = state.nextBlock++;
    const file = blockFile(state.options.dir, id);
    const notBeforeMs = Math.max(0, this.#cutoffMs);
    const done = await this.#workshop.run({
      ...sources,
      order: { file, id, level, refs, notBeforeMs, sliceMs: 1_000 },
    });
    for (const sentence of done.damage) {
      state.lost.push(sentence);
      state.options.log.error(sentence);
    }
    return done.parts === undefined ? undefined : new Block(file, state.context, done.parts);
  }

  #remove(): void {
    const state = this.#state;
    const gone = planRemoval(
      this.#planned(),
      this.#cutoffMs,
      state.options.retentionBytes ?? Infinity,
    ).map(({ block }) => block);
    if (gone.length === 0) return;
    changeState(state, { blocks: state.blocks.filter((block) => !gone.includes(block)) });
    for (const block of gone) block.remove();
    this.#dropSeries();
  }

  #dropSeries(): void {
    const dropped = dropUnused(this.#state);
    if (dropped === 0) return;
    this.#seriesDropped();
    this.#state.options.log.debug("series without samples were dropped", { series: dropped });
  }
}
