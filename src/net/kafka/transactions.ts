/**
 * Filters out batches of aborted transactions, as a `read_committed` consumer must. A response lists the aborted transactions of
 * its range by producer and first offset; each ends at the producer's next abort marker, and a producer may have several.
 */

export interface TransactionBatch {
  readonly firstOffset: bigint;
  readonly producerId: bigint;
  readonly attributes: number;
  readonly records: readonly { readonly key: Buffer | null }[];
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

/** Bits of a batch's attributes. */
const transactional = 1 << 4;
const control = 1 << 5;
/** The type in a marker's key, after two bytes of version. */
const abortMarker = 0;

/** Finds the batches of aborted transactions; markers themselves are control batches, which hold no messages. */
export function findAborted<Batch extends TransactionBatch>(
  batches: readonly Batch[],
  aborted: readonly AbortedTransaction[],
): ReadonlySet<Batch> {
  const found = new Set<Batch>();
  if (aborted.length === 0) return found;
  const ahead = [...aborted].sort((a, b) =>
    a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0,
  );
  const open = new Set<bigint>();
  for (const batch of batches) {
    for (let next = ahead[0]; next !== undefined; next = ahead[0]) {
      if (next.firstOffset > batch.firstOffset) break;
      open.add(next.producerId);
      ahead.shift();
    }
    const { attributes, producerId, records } = batch;
    if ((attributes & control) !== 0) {
      const key = records[0]?.key;
      if (
        key !== undefined &&
        key !== null &&
        key.length >= 4 &&
        key.readInt16BE(2) === abortMarker
      )
        open.delete(producerId);
    } else if ((attributes & transactional) !== 0 && open.has(producerId)) found.add(batch);
  }
  return found;
}
