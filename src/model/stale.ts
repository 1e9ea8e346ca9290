/** The staleness marker: a signalling NaN with its own payload. Written and compared by its bits only, never as a number. */

export const staleLow = 0x00000002;
export const staleHigh = 0x7ff00000;

export function putStale(words: Uint32Array, i: number): void {
  words[i * 2] = staleLow;
  words[i * 2 + 1] = staleHigh;
}

export function isStale(words: Uint32Array, i: number): boolean {
  return words[i * 2] === staleLow && words[i * 2 + 1] === staleHigh;
}
