/**
 * How far each partition has been handed on, and how far the group knows. Pure bookkeeping: what was handed on by this process
 * is held by its sinks or will be before anything is committed, so a partition that comes back goes on where it was left.
 */

export interface Position {
  /** Where this process began to hand on without a gap. */
  readonly from: bigint;
  /** The next message to hand on. */
  next: bigint;
  /** What the group would begin with. */
  committed: bigint;
  /** The last known end of the partition; undefined before the first response. */
  end?: bigint;
}

/** How far each partition had been handed on at some moment. */
export type OffsetSnapshot = ReadonlyMap<number, { readonly of: Position; readonly next: bigint }>;

export class Positions {
  readonly #held = new Map<number, Position>();
  #assigned = new Set<number>();
  /** No longer read, and not given up before what was handed on of them is stored and committed. */
  #revoked = new Set<number>();

  /**
   * Our share has changed: those of it that are ours already go on, those of ours that are not in it are revoked.
   * @returns those that are new, to be assigned once their start is known
   */
  reshare(share: readonly number[]): readonly number[] {
    const owned = new Set(this.owned);
    this.#assigned = new Set(share.filter((partition) => owned.has(partition)));
    this.#revoked = new Set([...owned].filter((partition) => !this.#assigned.has(partition)));
    return share.filter((partition) => !owned.has(partition));
  }

  /** Further partitions that are ours from now on, with what the group has committed of them. */
  assign(begin: ReadonlyMap<number, bigint>): void {
    for (const [partition, committed] of begin) {
      this.#assigned.add(partition);
      const held = this.#held.get(partition);
      if (held !== undefined && committed >= held.from && committed <= held.next)
        held.committed = committed;
      else this.#held.set(partition, { from: committed, next: committed, committed });
    }
  }

  /** None is ours until they are assigned again; what was handed on is remembered. */
  lose(): void {
    this.#assigned = new Set();
    this.#revoked = new Set();
  }

  /** Another member may read these from here on; those that came back meanwhile stay. */
  giveUp(partitions: readonly number[]): void {
    for (const partition of partitions) this.#revoked.delete(partition);
  }

  /** What was handed on is of another log. */
  forget(): void {
    this.lose();
    this.#held.clear();
  }

  get assigned(): readonly number[] {
    return [...this.#assigned].toSorted((left, right) => left - right);
  }

  get revoked(): readonly number[] {
    return [...this.#revoked].toSorted((left, right) => left - right);
  }

  get hasRevoked(): boolean {
    return this.#revoked.size > 0;
  }

  /** Assigned or revoked: nobody else reads these. */
  get owned(): readonly number[] {
    return [...this.assigned, ...this.revoked];
  }

  has(partition: number): boolean {
    return this.#assigned.has(partition);
  }

  of(partition: number): Position {
    const position = this.#held.get(partition);
    if (position === undefined) throw new Error(`BUG: partition ${partition} was never ours`);
    return position;
  }

  /** Messages were deleted before they were read: the first that is left is the next. */
  skipTo(partition: number, next: bigint): void {
    const { committed } = this.of(partition);
    this.#held.set(partition, { from: next, next, committed });
  }

  mark(): OffsetSnapshot {
    return new Map([...this.#held].map(([partition, of]) => [partition, { of, next: of.next }]));
  }

  /**
   * What the group does not know yet of the partitions that we own; up to the mark where there is one. A partition that
   * began again since then is not in it: what was handed on of it now is not what the mark saw.
   */
  uncommitted(upTo?: OffsetSnapshot): ReadonlyMap<number, bigint> {
    const found = new Map<number, bigint>();
    for (const partition of this.owned) {
      const position = this.of(partition);
      const marked = upTo?.get(partition);
      if (upTo !== undefined && marked?.of !== position) continue;
      const next = marked?.next ?? position.next;
      if (next > position.committed) found.set(partition, next);
    }
    return found;
  }

  /** Messages that were there at the last answer and are not handed on yet; undefined before every partition has answered. */
  unread(): number | undefined {
    let sum = 0;
    for (const partition of this.#assigned) {
      const { end, next } = this.of(partition);
      if (end === undefined) return undefined;
      sum += Math.max(0, Number(end - next));
    }
    return sum;
  }

  /** Messages that were there at the last answer and are not committed yet, by partition. */
  lag(): ReadonlyMap<number, number> {
    const found = new Map<number, number>();
    for (const partition of this.assigned) {
      const { end, committed } = this.of(partition);
      if (end !== undefined) found.set(partition, Math.max(0, Number(end - committed)));
    }
    return found;
  }
}
