/** What the store asks its worker to do, and how it is done: one block out of an epoch of the head, or out of other blocks. */
import type { Tombstone } from "../column-source.ts";
import type { EpochView } from "../head/epoch.ts";
import { EpochSource } from "../head/epoch-source.ts";
import type { BlockParts } from "./block.ts";
import { Block } from "./block.ts";
import type { BuildOrder } from "./build.ts";
import { buildBlock } from "./build.ts";
import { PageCache } from "./page-cache.ts";
import type { WrittenBlock } from "./writer.ts";

/** Pages come in the order they are merged in, so few need to be kept. */
const cacheBytes = 32 * 2 ** 20;

export interface Job {
  readonly order: BuildOrder;
  readonly epoch?: EpochView;
  readonly blocks?: readonly { readonly file: string; readonly tombstones: readonly Tombstone[] }[];
}

export interface JobDone {
  readonly written: WrittenBlock;
  /** Undefined when nothing was left to write: there is then no file. */
  readonly parts: BlockParts | undefined;
  /** What could not be read on the way. */
  readonly damage: readonly string[];
}

export async function runJob(job: Job): Promise<JobDone> {
  const damage: string[] = [];
  const context = {
    cache: new PageCache(cacheBytes),
    onDamage: (block: Block, page: number, columns: number, why: string): void => {
      damage.push(`${columns} columns in page ${page} of ${block.file} are lost: ${why}`);
    },
  };
  const blocks = (job.blocks ?? []).map(({ file, tombstones }) => {
    const block = new Block(file, context);
    block.tombstones = tombstones;
    return block;
  });
  try {
    const { epoch } = job;
    const sources =
      epoch === undefined ? blocks : [...blocks, new EpochSource({ view: () => epoch })];
    const written = await buildBlock(sources, job.order, () => performance.now());
    const fresh = new Block(job.order.file, context);
    const { parts } = fresh;
    if (written.samples === 0) fresh.remove();
    else fresh.release();
    return { written, parts: written.samples === 0 ? undefined : parts, damage };
  } finally {
    for (const block of blocks) block.release();
  }
}
