/**
 * The currently unreadable parts of blocks: single pages, and blocks that cannot be opened. Their files stay, they are
 * left out of merges, and they are retried later: an I/O error of a disk, a cable or a network file system may pass.
 */
import type { Block } from "./blocks/block.ts";

const firstWaitMs = 60_000;
const longestWaitMs = 3_600_000;

export interface UnreadablePart {
  /** Undefined for a block that could not be opened at startup. */
  readonly block: Block | undefined;
  readonly id: number;
  readonly file: string;
  /** The resolution of a rollup; absent for raw samples. */
  readonly resolutionMs?: number | undefined;
  /** Undefined for the whole block. */
  readonly page: number | undefined;
  readonly what: string;
  readonly why: string;
}

interface Entry {
  part: UnreadablePart;
  waitMs: number;
  retryAtMs: number;
}

export class Quarantine {
  readonly #monotonicMs: () => number;
  readonly #entries = new Map<string, Entry>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Returns false if the part was added before. */
  add(part: UnreadablePart): boolean {
    const key = keyOf(part);
    const known = this.#entries.get(key);
    const waitMs = known === undefined ? firstWaitMs : Math.min(known.waitMs * 2, longestWaitMs);
    this.#entries.set(key, { part, waitMs, retryAtMs: this.#monotonicMs() + waitMs });
    return known === undefined;
  }

  remove(part: UnreadablePart): void {
    this.#entries.delete(keyOf(part));
  }

  /** Drops the entries of removed blocks. */
  retain(blocks: readonly Block[]): void {
    for (const [key, { part }] of this.#entries)
      if (part.block !== undefined && !blocks.includes(part.block)) this.#entries.delete(key);
  }

  due(): readonly UnreadablePart[] {
    const nowMs = this.#monotonicMs();
    return [...this.#entries.values()].flatMap(({ part, retryAtMs }) =>
      retryAtMs <= nowMs ? [part] : [],
    );
  }

  has(block: Block): boolean {
    return this.parts.some((part) => part.block === block);
  }

  get parts(): readonly UnreadablePart[] {
    return [...this.#entries.values()].map(({ part }) => part);
  }

  /** Raw blocks that could not be opened, which are still part of the store. */
  get unopened(): readonly number[] {
    return this.unopenedOf(undefined);
  }

  /** Rollup blocks of one resolution that could not be opened; raw blocks for undefined. */
  unopenedOf(ofMs: number | undefined): readonly number[] {
    return this.parts.flatMap(({ block, id, resolutionMs }) =>
      block === undefined && resolutionMs === ofMs ? [id] : [],
    );
  }

  /** Rollup blocks of any resolution that could not be opened. */
  get unopenedRollups(): readonly number[] {
    return this.parts.flatMap(({ block, id, resolutionMs }) =>
      block === undefined && resolutionMs !== undefined ? [id] : [],
    );
  }

  get unopenedAll(): readonly number[] {
    return this.parts.flatMap(({ block, id }) => (block === undefined ? [id] : []));
  }
}

const keyOf = ({ file, page }: UnreadablePart): string => `${file} ${page ?? "all"}`;

export const describeUnreadable = ({ what, file, why }: UnreadablePart): string =>
  `${what} of ${file} cannot be read: ${why}; the file stays and is read again later`;

export function unreadablePage(
  block: Block,
  page: number | undefined,
  why: string,
): UnreadablePart {
  const what =
    page === undefined ? "the directory" : `${block.columnsOf(page)} columns in page ${page}`;
  return { block, id: block.id, file: block.file, page, what, why };
}
