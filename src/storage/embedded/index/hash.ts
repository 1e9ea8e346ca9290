/** Integer hashing for the open-addressing tables. Not safe against crafted collisions. */

export function mix(hash: number, word: number): number {
  let h = Math.imul(hash ^ word, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A power of two with at least half of the table free. */
export function tableSize(entries: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(16, entries * 2)));
}
