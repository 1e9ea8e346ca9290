/** The series of one target by their text on its page, across scrapes, so that labels are read and relabelled only once. */

export class SeriesMemory<Handle> {
  get size(): number {
    return 0;
  }

  /** After a page that was read to its end: forgets the series that were not on it, and tells of each. */
  endPage(_gone: (handle: Handle) => void): void {}
}
