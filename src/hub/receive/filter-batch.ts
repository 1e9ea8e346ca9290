/** Removes invalid samples from a batch: series with bad labels, samples from the future. */
import { ProtoError } from "../../formats/protobuf/reader.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { copyInto } from "../../formats/samples/columns.ts";
import { type LabelLimits, readLabelBlock } from "../../formats/samples/labels.ts";

export interface BadSeries {
  /** 1 for each bad series. */
  readonly flags: Uint8Array;
  readonly count: number;
  /** The problem of the first bad series. */
  readonly problem: string;
}

/** Validates every label block; the history only validates those of new series. */
export function findBadSeries(batch: SampleBatch, limits: LabelLimits): BadSeries | undefined {
  const { bytes, labelStarts, labelEnds, seriesCount } = batch;
  let flags: Uint8Array | undefined;
  let [count, problem] = [0, ""];
  for (let series = 0; series < seriesCount; series++) {
    try {
      readLabelBlock(bytes, labelStarts[series] ?? 0, labelEnds[series] ?? 0, limits);
    } catch (thrown) {
      if (!(thrown instanceof ProtoError)) throw thrown;
      flags ??= new Uint8Array(seriesCount);
      flags[series] = 1;
      if (count++ === 0) problem = thrown.message;
    }
  }
  return flags === undefined ? undefined : { flags, count, problem };
}

/** Called for every request, so it is one plain loop. */
export function hasSamplesAfter(batch: SampleBatch, maxTimeMs: number): boolean {
  const { times } = batch;
  for (let i = 0; i < times.length; i++) if ((times[i] as number) > maxTimeMs) return true;
  return false;
}

export interface FilteredBatch {
  readonly batch: SampleBatch;
  /** Number of samples of bad series. */
  readonly bad: number;
  readonly later: number;
}

export function filterBatch(
  batch: SampleBatch,
  bad: Uint8Array | undefined,
  maxTimeMs: number,
): FilteredBatch {
  const { seriesCount, sampleCount, sampleSeries, times, values } = batch;
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
  const place = new Uint32Array(seriesCount);
  const labelStarts = copyInto(batch.labelStarts, new Uint32Array(seriesCount));
  const labelEnds = copyInto(batch.labelEnds, new Uint32Array(seriesCount));
  let keptSeries = 0;
  for (let series = 0; series < seriesCount; series++) {
    if (bad?.[series] === 1) continue;
    labelStarts[keptSeries] = batch.labelStarts[series] as number;
    labelEnds[keptSeries] = batch.labelEnds[series] as number;
    place[series] = keptSeries++;
  }
  const owners = new Uint32Array(sampleCount);
  const keptTimes = new Float64Array(sampleCount);
  const keptValues = new Float64Array(sampleCount);
  const keptWords = new Uint32Array(keptValues.buffer);
  let [kept, badSamples, later] = [0, 0, 0];
  for (let i = 0; i < sampleCount; i++) {
    const series = sampleSeries[i] as number;
    if (bad?.[series] === 1) badSamples++;
    else if ((times[i] as number) > maxTimeMs) later++;
    else {
      owners[kept] = place[series] as number;
      keptTimes[kept] = times[i] as number;
      keptWords[kept * 2] = words[i * 2] as number;
      keptWords[kept * 2 + 1] = words[i * 2 + 1] as number;
      kept++;
    }
  }
  return {
    batch: {
      ...batch,
      exemplars: undefined,
      starts: undefined,
      seriesCount: keptSeries,
      labelStarts: labelStarts.subarray(0, keptSeries),
      labelEnds: labelEnds.subarray(0, keptSeries),
      labelHashes: undefined,
      sampleCount: kept,
      sampleSeries: owners.subarray(0, kept),
      times: keptTimes.subarray(0, kept),
      values: keptValues.subarray(0, kept),
    },
    bad: badSamples,
    later,
  };
}
