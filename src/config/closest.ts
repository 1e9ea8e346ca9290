/** Finds the name a person most likely meant. */

/** The nearest candidate within about a third of the word's length, or undefined where none is near. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = normal(word);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const named = normal(candidate);
    // Each letter more is an edit: a word of thousands is not held against every name there is.
    if (Math.abs(named.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, named);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** A closing ` Did you mean "x"?` for a message, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = closest(word, candidates);
  return near === undefined ? "" : ` Did you mean "${near}"?`;
}

const normal = (text: string): string => text.toLowerCase().replace(/[-_\s]/g, "");

/** Edits to turn one into the other, a swap of neighbours counting as one (optimal string alignment). */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      let edits = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        edits = Math.min(edits, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(edits);
    }
    beforeLast = last;
    last = row;
  }
  return last[right.length] ?? 0;
}
