/**
 * Where in its interval a file's groups are evaluated: spread between files, the same after every restart, and the same
 * for the groups of one file, so that they are evaluated at one instant and can share what they select.
 */
export function offsetMs(file: string, intervalMs: number): number {
  let hash = 0x811c_9dc5;
  for (const byte of Buffer.from(file)) hash = Math.imul(hash ^ byte, 0x0100_0193) >>> 0;
  return hash % intervalMs;
}
