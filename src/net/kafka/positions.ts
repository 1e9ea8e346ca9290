/**
 * Tracks how far each partition has been delivered and committed. Pure bookkeeping: the sinks store every message delivered by this
 * process before anything is committed, so a partition that is assigned again continues where it stopped.
 */

export interface Position {
  /** The first offset from which this process delivered without a gap. */
  readonly from: bigint;
  /** The next offset to deliver. */
  next: bigint;
  /** The offset that the group would start with. */
  committed: bigint;
  /** The last known end of the partition; undefined before the first response. */
  end?: bigint;
}

/** How far each partition had been delivered at some moment. */
export type OffsetSnapshot = ReadonlyMap<number, { readonly of: Position; readonly next: bigint }>;

export class Positions {
  readonly #held = new Map<number, Position>();
  #assigned = new Set<number>();
  /** Partitions no longer read, but owned until the messages delivered from them are stored and committed. */
  #revoked = new Set<number>();

  /**
   * Applies a new assignment: owned partitions in it continue, owned partitions outside it are revoked.
   * @returns the new partitions, to be assigned once their start offset is known
   */
  reshare(share: readonly number[]): readonly number[] {
    const owned = new Set(this.owned);
    this.#assigned = new Set(share.filter((partition) => owned.has(partition)));
    this.#revoked = new Set([...owned].filter((partition) => !this.#assigned.has(partition)));
    return share.filter((partition) => !owned.has(partition));
  }

  /** Adds assigned partitions, with the group's committed offset of each. */
  assign(begin: ReadonlyMap<number, bigint>): void {
    for (const [partition, committed] of begin) {
      this.#assigned.add(partition);
      const held = this.#held.get(partition);
      if (held !== undefined && committed >= held.from && committed <= held.next)
        held.committed = committed;
      else this.#held.set(partition, { from: committed, next: committed, committed });
    }
  }

  /** Owns no partition until it is assigned again; delivered offsets are remembered. */
  lose(): void {
    this.#assigned = new Set();
    this.#revoked = new Set();
  }

  /** Releases these partitions to other members; partitions assigned again meanwhile stay. */
  giveUp(partitions: readonly number[]): void {
    for (const partition of partitions) this.#revoked.delete(partition);
  }

  /** Forgets all offsets: they belong to another log. */
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

  /** Assigned or revoked partitions: no other member reads these. */
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

  /** Messages were deleted before they were read: continues with the first one left. */
  skipTo(partition: number, next: bigint): void {
    const { committed } = this.of(partition);
    this.#held.set(partition, { from: next, next, committed });
  }

  mark(): OffsetSnapshot {
    return new Map([...this.#held].map(([partition, of]) => [partition, { of, next: of.next }]));
  }

  /**
   * The delivered but uncommitted offsets of the owned partitions, up to the snapshot if there is one. A partition that restarted
   * since the snapshot is left out: its present offsets are not those of the snapshot.
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

  /** Messages present at the last response and not delivered yet; undefined until every partition has responded. */
  unread(): number | undefined {
    let sum = 0;
    for (const partition of this.#assigned) {
      const { end, next } = this.of(partition);
      if (end === undefined) return undefined;
      sum += Math.max(0, Number(end - next));
    }
    return sum;
  }

  /** Messages present at the last response and not committed yet, by partition. */
  lag(): ReadonlyMap<number, number> {
    const found = new Map<number, number>();
    for (const partition of this.assigned) {
      const { end, committed } = this.of(partition);
      if (end !== undefined) found.set(partition, Math.max(0, Number(end - committed)));
    }
    return found;
  }
}
