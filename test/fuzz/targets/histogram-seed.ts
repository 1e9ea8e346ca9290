// A column of native histograms as the store writes it, as a seed for the fuzzer.

import { type Histogram, noBounds, noBuckets } from "../../../src/model/histogram/histogram.ts";
import { histogramHigh } from "../../../src/model/histogram/word.ts";
import { encodeHistograms } from "../../../src/storage/embedded/codec/histogram-encode.ts";
import { Bytes } from "../../../src/storage/embedded/slab/bytes.ts";

/** Sixteen samples: histograms that gain a bucket halfway, and one float. */
export const histogramBytes = ((): Buffer => {
  const histograms = Array.from({ length: 15 }, (_, at): Histogram => {
    const indexes = Int32Array.from({ length: at < 8 ? 3 : 4 }, (_one, bucket) => bucket - 1);
    const counts = Float64Array.from(indexes, (index) => at + index + 2);
    return {
      resetHint: "unknown",
      schema: 3,
      zeroThreshold: 1e-9,
      zeroCount: at,
      count: counts.reduce((sum, count) => sum + count, at),
      sum: at * 1.5,
      positive: { indexes, counts },
      negative: noBuckets,
      bounds: noBounds,
    };
  });
  const mixed = new Float64Array(16).fill(7);
  const mixedWords = new Uint32Array(mixed.buffer);
  histograms.forEach((_, at) => {
    mixedWords[at * 2] = at;
    mixedWords[at * 2 + 1] = histogramHigh;
  });
  const out = new Bytes();
  encodeHistograms(mixedWords, 0, 16, histograms, out, true);
  return Buffer.from(out.used);
})();
