/**
 * A list that is built for every page and nearly always has the same items in the same order: then the last list is used again.
 * New lists of hundreds of targets survive in memory until the next scrape, and collecting them costs as much as a page.
 */
export class RepeatedList<Item> {
  readonly #last: readonly Item[];
  #count = 0;
  /** The items of a list that differs from the last one. */
  #own: Item[] | undefined;

  constructor(last: readonly Item[] = []) {
    this.#last = last;
  }

  /** Returns the item's index. */
  push(item: Item): number {
    const index = this.#count++;
    if (this.#own !== undefined) this.#own.push(item);
    else if (index >= this.#last.length || this.#last[index] !== item) {
      this.#own = this.#last.slice(0, index);
      this.#own.push(item);
    }
    return index;
  }

  /** Pushes the first `count` items of the last list, onto an empty list. */
  repeat(count: number): void {
    if (this.#count > 0 || count > this.#last.length)
      throw new Error(`BUG: ${count} of ${this.#last.length} items cannot be repeated`);
    this.#count = count;
  }

  /** Returns the last list itself if this one is the same. */
  finish(): readonly Item[] {
    if (this.#own === undefined && this.#count < this.#last.length)
      this.#own = this.#last.slice(0, this.#count);
    return this.#own ?? this.#last;
  }
}
