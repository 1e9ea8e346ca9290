/**
 * The largest number a series has. Columns are kept by it, so a number that nobody gave out would cost gigabytes for nothing.
 * Numbers are given out again once no block names them: two million new series a day, kept for a month, stay below it.
 */
export const largestRef = 2 ** 26;
