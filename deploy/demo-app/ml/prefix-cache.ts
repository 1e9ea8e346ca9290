// The prefix cache of one engine: the prompt prefixes computed so far, in blocks of 16 tokens, with LRU eviction. Only hashes are
// stored.

export const BLOCK_TOKENS = 16;
const BLOCK_CHARS = BLOCK_TOKENS * 4;

export class PrefixCache {
  readonly #blocks = new Set<number>();
  readonly #limit: number;

  constructor(limitBlocks: number) {
    this.#limit = limitBlocks;
  }

  /** Returns the number of cached tokens at the prompt's beginning, and caches all of its whole blocks. */
  lookUp(prompt: string): number {
    let hash = 2_166_136_261;
    let hitBlocks = 0;
    let unbroken = true;
    for (let end = BLOCK_CHARS; end <= prompt.length; end += BLOCK_CHARS) {
      // A block includes everything before it, so the hash continues (FNV-1a, 32 bits).
      for (let index = end - BLOCK_CHARS; index < end; index += 1)
        hash = Math.imul(hash ^ prompt.charCodeAt(index), 16_777_619);
      if (this.#blocks.delete(hash) && unbroken) hitBlocks += 1;
      else unbroken = false;
      this.#blocks.add(hash);
    }
    for (const block of this.#blocks) {
      if (this.#blocks.size <= this.#limit) break;
      this.#blocks.delete(block);
    }
    return hitBlocks * BLOCK_TOKENS;
  }
}
