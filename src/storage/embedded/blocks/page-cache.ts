/** An LRU cache of decompressed block pages with a memory limit. */

/** Combines the numbers of a block and a page into one cache key. */
const pagesPerBlock = 2 ** 22;

export class PageCache {
  readonly budgetBytes: number;
  readonly #pages = new Map<number, Uint8Array>();
  #bytes = 0;
  hits = 0;
  misses = 0;

  constructor(budgetBytes: number) {
    this.budgetBytes = budgetBytes;
  }

  get byteLength(): number {
    return this.#bytes;
  }

  get(block: number, page: number, load: () => Uint8Array): Uint8Array {
    const key = block * pagesPerBlock + page;
    const known = this.#pages.get(key);
    if (known !== undefined) {
      this.hits++;
      this.#pages.delete(key);
      this.#pages.set(key, known);
      return known;
    }
    this.misses++;
    const loaded = load();
    this.#pages.set(key, loaded);
    this.#bytes += loaded.byteLength;
    this.#shrink();
    return loaded;
  }

  /** Drops the pages of a removed block. */
  drop(block: number): void {
    for (const [key, page] of this.#pages) {
      if (Math.floor(key / pagesPerBlock) !== block) continue;
      this.#pages.delete(key);
      this.#bytes -= page.byteLength;
    }
  }

  #shrink(): void {
    for (const [key, page] of this.#pages) {
      if (this.#bytes <= this.budgetBytes || this.#pages.size <= 1) return;
      this.#pages.delete(key);
      this.#bytes -= page.byteLength;
    }
  }
}
