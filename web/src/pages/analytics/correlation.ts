/** Pearson correlation of columns on the same instants. Pure; an instant counts only if both have a reading. */

export type Correlation =
  | { readonly known: true; readonly r: number; readonly count: number }
  | { readonly known: false; readonly why: string };

const FEWEST = 20;

export function correlationOf(one: Float64Array, other: Float64Array): Correlation {
  const pairs: (readonly [number, number])[] = [];
  one.forEach((a, at) => {
    const b = other[at] ?? Number.NaN;
    if (Number.isFinite(a) && Number.isFinite(b)) pairs.push([a, b]);
  });
  const count = pairs.length;
  if (count < FEWEST)
    return { known: false, why: `only ${count} instants have both; ${FEWEST} are needed` };
  const meanA = pairs.reduce((sum, [a]) => sum + a, 0) / count;
  const meanB = pairs.reduce((sum, [, b]) => sum + b, 0) / count;
  let [both, squareA, squareB] = [0, 0, 0];
  for (const [a, b] of pairs) {
    both += (a - meanA) * (b - meanB);
    squareA += (a - meanA) ** 2;
    squareB += (b - meanB) ** 2;
  }
  // Rounding errors of a constant are no variation.
  const still = (square: number, mean: number): boolean =>
    square / count <= (1e-9 * Math.max(1e-300, Math.abs(mean))) ** 2;
  if (still(squareA, meanA) || still(squareB, meanB))
    return { known: false, why: "one of the two does not change in this range" };
  const r = both / Math.sqrt(squareA * squareB);
  return { known: true, r: Math.min(1, Math.max(-1, r)), count };
}
