/**
 * The offset within the interval at which a file's groups are evaluated: spread between files, stable across restarts, and equal
 * for the groups of one file, so that they are evaluated at one instant and share selected series.
 */
export function offsetMs(file: string, intervalMs: number): number {
  let hash = 0x811c_9dc5;
  for (const byte of Buffer.from(file)) hash = Math.imul(hash ^ byte, 0x0100_0193) >>> 0;
  return hash % intervalMs;
}
