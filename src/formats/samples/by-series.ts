/** A batch's samples series by series, in the order they came: how every format writes them, whatever order they were read in. */
import type { SampleBatch } from "./batch.ts";

export interface SeriesGrouping {
  /** `order[starts[s]] … order[starts[s + 1] - 1]` are the samples of series s. */
  readonly order: Uint32Array;
  readonly starts: Uint32Array;
}

export function groupBySeries({
  seriesCount,
  sampleCount,
  sampleSeries,
}: SampleBatch): SeriesGrouping {
  const starts = new Uint32Array(seriesCount + 1);
  for (let i = 0; i < sampleCount; i++) {
    const after = (sampleSeries[i] as number) + 1;
    starts[after] = (starts[after] as number) + 1;
  }
  for (let series = 0; series < seriesCount; series++)
    starts[series + 1] = (starts[series + 1] as number) + (starts[series] as number);
  const next = starts.slice(0, seriesCount);
  const order = new Uint32Array(sampleCount);
  for (let i = 0; i < sampleCount; i++) {
    const series = sampleSeries[i] as number;
    const place = next[series] as number;
    order[place] = i;
    next[series] = place + 1;
  }
  return { order, starts };
}

/** A batch's values as words: the only way to copy a NaN whose bits matter. */
export const wordsOf = ({ values }: SampleBatch): Uint32Array =>
  new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
