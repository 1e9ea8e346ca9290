/**
 * Caches the lines of one target's page by their text, across scrapes, so that a series' labels are parsed and relabeled only once.
 * Each line also links to the one that followed it last time: pages hardly change, so the next line can usually be predicted.
 */

export interface MemoryLine<Handle> {
  /** A series as written on the page, or a whole metadata line; one character per byte. */
  readonly text: string;
  /** Undefined for metadata. */
  readonly handle: Handle | undefined;
  readonly isSeries: boolean;
  /** The type in a TYPE line. */
  readonly type: string | undefined;
  /** The first page with this line, and the last one. */
  readonly born: number;
  page: number;
  next: MemoryLine<Handle> | undefined;
  isForgotten: boolean;
}

export class SeriesMemory<Handle> {
  readonly #lines = new Map<string, MemoryLine<Handle>>();
  /** Precedes the first line of a page. */
  readonly start: MemoryLine<Handle> = {
    text: "",
    handle: undefined,
    isSeries: false,
    type: undefined,
    born: 0,
    page: 0,
    next: undefined,
    isForgotten: false,
  };
  #page = 0;
  #seriesCount = 0;

  /** Number of cached series. */
  get size(): number {
    return this.#seriesCount;
  }

  /** The results of `open` for all cached series: for ending them when a target disappears. */
  *handles(): Generator<Handle> {
    for (const line of this.#lines.values()) if (line.isSeries) yield line.handle as Handle;
  }

  /**
   * Call this after a page was read to its end: forgets the series that were not on it, and reports each of them. A failed page
   * needs no call: the series it opened are forgotten immediately, without a report.
   */
  endPage(gone: (handle: Handle) => void): void {
    for (const line of this.#lines.values()) {
      if (line.page === this.#page) continue;
      this.#forget(line);
      if (line.isSeries) gone(line.handle as Handle);
    }
  }

  /** This and all methods below are only for page parsers. Starts a new page. */
  beginPage(): number {
    return ++this.#page;
  }

  find(text: string): MemoryLine<Handle> | undefined {
    return this.#lines.get(text);
  }

  add(
    text: string,
    isSeries: boolean,
    handle: Handle | undefined,
    type?: string,
  ): MemoryLine<Handle> {
    // A slice would retain the whole page it was cut from.
    const own = Buffer.from(text, "latin1").toString("latin1");
    const page = this.#page;
    const line = {
      text: own,
      handle,
      isSeries,
      type,
      born: page,
      page,
      next: undefined,
      isForgotten: false,
    };
    this.#lines.set(own, line);
    if (isSeries) this.#seriesCount++;
    return line;
  }

  /** Marks the series as present on this page. */
  see(line: MemoryLine<Handle>): Handle {
    line.page = this.#page;
    return line.handle as Handle;
  }

  abandonPage(): void {
    for (const line of this.#lines.values()) if (line.born === this.#page) this.#forget(line);
  }

  #forget(line: MemoryLine<Handle>): void {
    line.isForgotten = true;
    line.next = undefined;
    this.#lines.delete(line.text);
    if (line.isSeries) this.#seriesCount--;
  }
}
