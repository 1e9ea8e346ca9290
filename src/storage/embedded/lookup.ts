/** Finds one sample of one series in head or blocks, to tell a duplicate, a conflict and an out-of-order sample apart. */
import { type ColumnSource, SeriesPieces } from "./column-source.ts";
import { ColumnBuffer } from "./merge.ts";

interface Collecting extends ColumnSource {
  collect(ref: number, fromMs: number, toMs: number, pieces: SeriesPieces): void;
}

const pieces = new SeriesPieces();
const column = new ColumnBuffer();

export type LookupResult = "nothing" | "same" | "other";

/** Compares with sample `i` of `words`, bit by bit. */
export function lookUp(
  sources: Iterable<Collecting>,
  ref: number,
  timeMs: number,
  words: Uint32Array,
  i: number,
): LookupResult {
  pieces.clear();
  for (const source of sources) source.collect(ref, timeMs, timeMs, pieces);
  for (let p = 0; p < pieces.length; p++) {
    const deleted = pieces.deleted[p];
    if (deleted?.some((one) => one.fromMs <= timeMs && one.toMs >= timeMs) === true) continue;
    const count = pieces.counts[p] as number;
    const at = pieces.sources[p]?.findTime(pieces.timebases[p] as number, count, timeMs) ?? -1;
    if (at < 0) continue;
    column.reserve(count);
    pieces.sources[p]?.decode(pieces.addresses[p] as number, count, column.values, column.words, 0);
    const same =
      column.words[at * 2] === words[i * 2] && column.words[at * 2 + 1] === words[i * 2 + 1];
    return same ? "same" : "other";
  }
  return "nothing";
}
