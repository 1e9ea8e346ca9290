/** Finds one sample of one series in head or blocks, to distinguish duplicates, conflicts and out-of-order samples. */
import { equalHistograms, type Histogram } from "../../model/histogram/histogram.ts";
import { histogramIn } from "./codec/histogram-encode.ts";
import { type ColumnSource, SeriesPieces } from "./column-source.ts";
import { ColumnBuffer } from "./merge.ts";
import type { WalSampleColumns } from "./wal/records.ts";

interface CollectingSource extends ColumnSource {
  collect(ref: number, fromMs: number, toMs: number, pieces: SeriesPieces): void;
}

const pieces = new SeriesPieces();
const column = new ColumnBuffer();

export type LookupResult = "nothing" | "same" | "other";

/** Compares with sample `i` bit by bit, ignoring a native histogram's reset hint. */
export function lookUp(
  sources: Iterable<CollectingSource>,
  samples: WalSampleColumns,
  i: number,
): LookupResult {
  const ref = samples.refs[i] as number;
  const timeMs = samples.times[i] as number;
  pieces.clear();
  for (const source of sources) source.collect(ref, timeMs, timeMs, pieces);
  for (let p = 0; p < pieces.length; p++) {
    const deleted = pieces.deleted[p];
    if (deleted?.some((one) => one.fromMs <= timeMs && one.toMs >= timeMs) === true) continue;
    const count = pieces.counts[p] as number;
    const at = pieces.sources[p]?.findTime(pieces.timebases[p] as number, count, timeMs) ?? -1;
    if (at < 0) continue;
    column.reserve(count);
    const histograms: Histogram[] = [];
    const { values, words } = column;
    pieces.sources[p]?.decode(pieces.addresses[p] as number, count, values, words, 0, histograms);
    return isSame(histogramIn(words, at, histograms), at, samples, i) ? "same" : "other";
  }
  return "nothing";
}

function isSame(
  stored: Histogram | undefined,
  at: number,
  { words, histograms }: WalSampleColumns,
  i: number,
): boolean {
  const sent = histogramIn(words, i, histograms);
  if (stored !== undefined && sent !== undefined) return equalHistograms(stored, sent);
  return (
    stored === sent &&
    column.words[at * 2] === words[i * 2] &&
    column.words[at * 2 + 1] === words[i * 2 + 1]
  );
}
