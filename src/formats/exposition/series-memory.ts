/**
 * The lines of one target's page by their text, across scrapes, so that a series' labels are read and relabelled only
 * once. Each line also knows the one that followed it last time: pages hardly change, so the next line is mostly known
 * before it is read.
 */

export interface MemoryLine<Handle> {
  /** A series as it stands on the page, or a whole line of metadata; bytes as characters. */
  readonly text: string;
  /** Undefined for metadata. */
  readonly handle: Handle | undefined;
  readonly isSeries: boolean;
  /** Of a TYPE line: what it gives. */
  readonly type: string | undefined;
  /** The page it was first on, and the last one. */
  readonly born: number;
  page: number;
  next: MemoryLine<Handle> | undefined;
  isForgotten: boolean;
}

export class SeriesMemory<Handle> {
  readonly #lines = new Map<string, MemoryLine<Handle>>();
  /** Stands before a page's first line. */
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

  /** How many series it holds. */
  get size(): number {
    return this.#seriesCount;
  }

  /** What `open` gave, of every series it holds: for ending them all when a target is gone. */
  *handles(): Generator<Handle> {
    for (const line of this.#lines.values()) if (line.isSeries) yield line.handle as Handle;
  }

  /**
   * After a page that was read to its end: forgets the series that were not on it, and reports on each. A page that failed
   * needs no call: the series it opened are forgotten at once, in silence.
   */
  endPage(gone: (handle: Handle) => void): void {
    for (const line of this.#lines.values()) {
      if (line.page === this.#page) continue;
      this.#forget(line);
      if (line.isSeries) gone(line.handle as Handle);
    }
  }

  /** For the reader of pages alone, as all below: a new page begins. */
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
    // A slice keeps all of the page it was cut from.
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

  /** The series is on this page. */
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
