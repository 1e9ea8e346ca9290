/**
 * A native histogram in a column of 8-byte values: a NaN with this high word, whose low word is the histogram's index in a list
 * beside the column. Columns are copied as words, so that the bits survive.
 */
export const histogramHigh = 0x7ff4_6869;
/** The high word of an ordinary NaN, whose low word is 0. */
const plainNaNHigh = 0x7ff8_0000;

/** Replaces words that look like a histogram but refer to none with ordinary NaNs, because senders may send any bits. */
export function clearHistogramWords(words: Uint32Array, from: number, to: number): void {
  for (let i = from * 2 + 1; i < to * 2; i += 2)
    if (words[i] === histogramHigh) {
      words[i - 1] = 0;
      words[i] = plainNaNHigh;
    }
}
