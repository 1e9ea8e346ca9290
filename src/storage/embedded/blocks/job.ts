/** The job of the store's worker: writes one block from an epoch of the head, or from other blocks. */
import { rmSync } from "node:fs";
import { formatError } from "../../../base/error.ts";
import { findWorkerFile, WorkerThread } from "../../../base/worker-thread.ts";
import type { Tombstone } from "../column-source.ts";
import type { EpochView } from "../head/epoch.ts";
import { EpochSource } from "../head/epoch-source.ts";
import { Block, type BlockContext, type BlockParts } from "./block.ts";
import { buildRollups, type RollupOrder } from "../rollups/build.ts";
import { buildBlock, type BuildOrder } from "./build.ts";
import { PageCache } from "./page-cache.ts";

/** Small, because pages are read in merge order. */
const cacheBytes = 32 * 2 ** 20;
/** Maximum time of one slice of work on a block in the main thread. */
const sliceMs = 5;
const idleMs = 2_000;

interface JobSources {
  readonly blocks?: readonly { readonly file: string; readonly tombstones: readonly Tombstone[] }[];
}

/** Writes one block, of samples or of a rollup's columns. */
export interface BlockJob extends JobSources {
  readonly order: BuildOrder;
  readonly epoch?: EpochView;
}

/** Writes rollups of raw blocks. */
export interface RollupJob extends JobSources {
  readonly rollups: RollupOrder;
}

export interface BlockJobResult {
  /** One entry per file. Undefined if there was nothing to write, or if writing failed; the file does not exist then. */
  readonly parts: readonly (BlockParts | undefined)[];
  /** The unreadable source, if there was one. Then nothing was written, except for rollups of the rest. */
  readonly unreadable?: UnreadableSource;
}

export interface UnreadableSource {
  readonly file: string;
  /** Undefined for a block that cannot be opened. */
  readonly page: number | undefined;
  readonly why: string;
}

export interface BlockWorker {
  run(job: BlockJob | RollupJob): Promise<BlockJobResult>;
  close(): Promise<void>;
}

/** Runs jobs in a worker thread, or in slices of this thread if `workerFile` is false or no worker file exists. */
export function openBlockWorker(workerFile: string | false | undefined): BlockWorker {
  const file = workerFile === false ? undefined : (workerFile ?? findWorkerFile("store-worker.js"));
  if (file !== undefined) return new WorkerThread({ file, name: "store", idleMs });
  return {
    run: (job) =>
      runBlockJob(
        "order" in job
          ? { ...job, order: { ...job.order, sliceMs } }
          : { ...job, rollups: { ...job.rollups, sliceMs } },
      ),
    close: async () => {},
  };
}

class SourceUnreadable extends Error {
  readonly source: UnreadableSource;

  constructor(source: UnreadableSource) {
    super(`${source.file}: ${source.why}`);
    this.source = source;
  }
}

/**
 * Writes the blocks and reads them back. A source that cannot be read completely ends the job, because its file is the
 * only copy.
 */
export async function runBlockJob(job: BlockJob | RollupJob): Promise<BlockJobResult> {
  let unreadable: UnreadableSource | undefined;
  const fail = (source: UnreadableSource): void => {
    // A rollup is built from the readable part, and rebuilt when the rest is readable.
    if ("rollups" in job) unreadable ??= source;
    else throw new SourceUnreadable(source);
  };
  const context: BlockContext = {
    cache: new PageCache(cacheBytes),
    onUnreadable: ({ file }, page, _columns, why) => fail({ file, page, why }),
  };
  const blocks: Block[] = [];
  try {
    for (const { file, tombstones } of job.blocks ?? []) {
      const block = openSource(file, context, fail);
      if (block === undefined) continue;
      blocks.push(block);
      block.tombstones = tombstones;
    }
    const nowMs = (): number => performance.now();
    if ("rollups" in job) {
      const { files } = job.rollups;
      const values = await buildRollups(blocks, job.rollups, nowMs);
      const parts = files.map(({ file }, i) => readBack(file, values[i] ?? 0, context, true));
      return unreadable === undefined ? { parts } : { parts, unreadable };
    }
    const { epoch, order } = job;
    const sources =
      epoch === undefined ? blocks : [...blocks, new EpochSource({ view: () => epoch })];
    const { samples } = await buildBlock(sources, order, nowMs);
    return { parts: [readBack(order.file, samples, context)] };
  } catch (thrown) {
    if (!(thrown instanceof SourceUnreadable)) throw thrown;
    return { parts: [], unreadable: thrown.source };
  } finally {
    for (const block of blocks) block.release();
  }
}

function openSource(
  file: string,
  context: BlockContext,
  fail: (source: UnreadableSource) => void,
): Block | undefined {
  try {
    return new Block(file, context);
  } catch (thrown) {
    fail({ file, page: undefined, why: formatError(thrown) });
    return undefined;
  }
}

/**
 * A block replaces its sources only if all of it can be read from its file. An empty one is removed.
 * @param isRollup true to compare only checksums: the raw samples stay, and a merge reads the rollup again
 */
function readBack(
  file: string,
  samples: number,
  context: BlockContext,
  isRollup = false,
): BlockParts | undefined {
  let fresh: Block;
  try {
    fresh = new Block(file, context);
  } catch (thrown) {
    rmSync(file, { force: true });
    throw thrown;
  }
  try {
    const stored = isRollup ? fresh.countStored() : fresh.countSamples();
    if (stored !== samples)
      throw new Error(`${file} holds ${stored} samples instead of the ${samples} written`);
  } catch (thrown) {
    fresh.remove();
    throw thrown;
  }
  const { parts } = fresh;
  if (samples > 0) {
    fresh.release();
    return parts;
  }
  fresh.remove();
  return undefined;
}
