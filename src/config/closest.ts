/** Finds the name that the user most likely meant. */

/** The nearest candidate within about a third of the word's length; undefined if there is none. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = normal(word);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const named = normal(candidate);
    // Each extra letter is an edit, so a word of thousands of letters is not compared with every name.
    if (Math.abs(named.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(wanted, named);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Returns ` Did you mean "x"?` for the end of a message, or an empty text. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = closest(word, candidates);
  return near === undefined ? "" : ` Did you mean "${near}"?`;
}

const normal = (text: string): string => text.toLowerCase().replace(/[-_\s]/g, "");

/** The number of edits that turn one into the other; a swap of neighbours counts as one (optimal string alignment). */
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
