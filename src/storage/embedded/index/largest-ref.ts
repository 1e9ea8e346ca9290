/**
 * The largest number a series has. Columns are indexed by it, so a corrupt number would cost gigabytes for nothing.
 * Numbers are reused once no block names them: two million new series a day, stored for a month, stay below it.
 */
export const largestRef = 2 ** 26;
