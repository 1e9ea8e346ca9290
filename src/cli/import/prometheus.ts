/** Imports the raw samples of a Prometheus, or of an engine with its API, in time windows: all series, every sample once, bit for bit. */
import { GpulseError } from "../../base/error.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { parseStoreAddress } from "../../storage/remote/address.ts";
import { EngineConnection } from "../../storage/remote/connection.ts";
import { findReader } from "../../storage/remote/find.ts";
import { selectRaw } from "../../storage/remote/raw.ts";
import type { Matcher, SelectedSeries } from "../../model/select.ts";
import { StoreError } from "../../storage/embedded/error.ts";
import { QueryError } from "../../query/errors.ts";
import {
  type ImportBatch,
  type ImportSource,
  overrideLabels,
  samplesPerImportBatch,
} from "./source.ts";

const windowMs = 3_600_000;
const everything: Matcher = { name: "__name__", op: "!=", value: "" };

export interface PrometheusImport {
  /** `http://host:9090`, with user and password if required. */
  readonly url: string;
  readonly matchers: readonly Matcher[] | undefined;
  readonly fromMs: number;
  readonly toMs: number;
  readonly set: Readonly<Record<string, string>>;
}

export function openPrometheusImport(options: PrometheusImport): ImportSource {
  return { format: "prometheus", pieces: (after, signal) => read(options, after, signal) };
}

async function* read(
  { url, matchers = [everything], fromMs, toMs, set }: PrometheusImport,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<ImportBatch> {
  const address = parseStoreAddress(url);
  const connection = new EngineConnection(address);
  try {
    const engine = await findReader(connection, address);
    // Windows are aligned to the clock, so that a resumed import uses the same windows.
    for (let start = Math.max(fromMs, after + 1); start <= toMs;) {
      const end = Math.min(toMs, Math.floor(start / windowMs) * windowMs + windowMs - 1);
      const range = { matchers, fromMs: start, toMs: end, signal };
      const series = await selectRaw(connection, engine, range);
      const fraction = (end - fromMs + 1) / Math.max(1, toMs - fromMs + 1);
      const batches = [...inBatches(series, set)];
      // A window is complete with its last batch; after an interruption, earlier batches are sent again.
      for (const [at, batch] of batches.entries())
        yield { batch, position: at === batches.length - 1 ? end : start - 1, fraction };
      if (batches.length === 0)
        yield { batch: new BatchBuilder().finish(), position: end, fraction };
      start = end + 1;
    }
  } catch (thrown) {
    if (!(thrown instanceof StoreError || thrown instanceof QueryError)) throw thrown;
    throw new GpulseError("IMPORT_FAILED", `Cannot read ${address.base}: ${thrown.message}`, {
      cause: thrown,
    });
  } finally {
    connection.close();
  }
}

function* inBatches(
  series: readonly SelectedSeries[],
  set: Readonly<Record<string, string>>,
): Generator<ReturnType<BatchBuilder["finish"]>> {
  let builder = new BatchBuilder();
  for (const { labels, column } of series) {
    const { times, values, stale, histograms } = column;
    const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
    const index = builder.series(overrideLabels(labels, set));
    for (let at = 0; at < times.length; at++) {
      const timeMs = times[at] ?? 0;
      const histogram = histograms?.[at];
      if (stale?.[at] === 1) builder.addStale(index, timeMs);
      else if (histogram !== undefined) builder.addHistogram(index, timeMs, histogram);
      else builder.addBits(index, timeMs, words[at * 2] ?? 0, words[at * 2 + 1] ?? 0);
    }
    if (builder.sampleCount < samplesPerImportBatch) continue;
    yield builder.finish();
    builder = new BatchBuilder();
  }
  if (builder.sampleCount > 0) yield builder.finish();
}
