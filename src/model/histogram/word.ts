/**
 * A native histogram in a column of 8-byte values: a NaN with this high word, whose low word is the histogram's place in a
 * list beside the column. Columns are copied as words, so that the bits survive.
 */
export const histogramHigh = 0x7ff4_6869;
