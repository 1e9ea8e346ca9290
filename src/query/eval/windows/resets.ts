/** Counter resets. */

/** The samples that are lower than the one before them, found once for all windows. */
export function resetIndexes(values: Float64Array): readonly number[] {
  const resets: number[] = [];
  for (let index = 1; index < values.length; index++) {
    if ((values[index] ?? 0) < (values[index - 1] ?? 0)) resets.push(index);
  }
  return resets;
}
