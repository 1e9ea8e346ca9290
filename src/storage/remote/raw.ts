/**
 * Reads raw samples from an engine by its most exact method: remote read, VictoriaMetrics's export, or a range selector,
 * which alone does not show where a series ended. A range too large for one response is halved.
 */
import { compressSnappy } from "../../formats/snappy/compress.ts";
import { decompressSnappy } from "../../formats/snappy/decompress.ts";
import { QueryError } from "../../query/errors.ts";
import type { MatrixSeries } from "../../query/result.ts";
import type { Matcher, SampleColumn, SelectedSeries } from "../../model/select.ts";
import { readResponse, readResult } from "./response.ts";
import { clampMs, secondsText, selectorText } from "./parameters.ts";
import { batchSeries, joinSeries } from "./columns.ts";
import { type EngineConnection, maxEngineResponseBytes } from "./connection.ts";
import { readExport } from "./export-lines.ts";
import type { DetectedEngine } from "./find.ts";
import { decodeReadResponse, encodeReadRequest } from "./remote-read.ts";

const timeoutMs = 120_000;
/** Ranges this short are not split further. */
const leastSpanMs = 60_000;

export interface RawRange {
  readonly matchers: readonly Matcher[];
  readonly fromMs: number;
  readonly toMs: number;
  readonly signal?: AbortSignal | undefined;
}

export async function selectRaw(
  connection: EngineConnection,
  engine: DetectedEngine,
  range: RawRange,
): Promise<readonly SelectedSeries[]> {
  const [fromMs, toMs] = [clampMs(range.fromMs), clampMs(range.toMs)];
  if (fromMs > toMs) return [];
  const whole = { ...range, fromMs, toMs };
  try {
    return await readMethods[readMethodFor(engine)](connection, engine, whole);
  } catch (thrown) {
    if (!isTooLarge(thrown) || toMs - fromMs < leastSpanMs) throw thrown;
  }
  const middleMs = Math.floor((fromMs + toMs) / 2);
  const earlier = await selectRaw(connection, engine, { ...whole, toMs: middleMs });
  const later = await selectRaw(connection, engine, { ...whole, fromMs: middleMs + 1 });
  return joinSeries(earlier, later);
}

type RawReadMethod = (
  connection: EngineConnection,
  engine: DetectedEngine,
  range: RawRange,
) => Promise<readonly SelectedSeries[]>;

function readMethodFor({ name }: DetectedEngine): keyof typeof readMethods {
  if (name === "prometheus" || name === "mimir") return "remoteRead";
  return name === "victoria-metrics" ? "export" : "query";
}

const readMethods = { remoteRead, export: exported, query: queried } satisfies Record<
  string,
  RawReadMethod
>;

async function remoteRead(
  connection: EngineConnection,
  engine: DetectedEngine,
  range: RawRange,
): Promise<readonly SelectedSeries[]> {
  const { matchers, fromMs, toMs, signal } = range;
  const answer = await connection.post(`${engine.readBase}/api/v1/read`, {
    body: compressSnappy(encodeReadRequest(matchers, fromMs, toMs)),
    headers: {
      "content-encoding": "snappy",
      "content-type": "application/x-protobuf",
      "x-prometheus-remote-read-version": "0.1.0",
    },
    takesSnappy: true,
    timeoutMs,
    signal,
  });
  // Error responses are plain text, not JSON.
  if (answer.status !== 200) readResponse(answer);
  const batch = decodeReadResponse(decompressSnappy(answer.body, maxEngineResponseBytes));
  const found = batchSeries(batch);
  // Prometheus before 3 returns a series of native histograms without its samples.
  return found.length < batch.seriesCount ? queried(connection, engine, range) : found;
}

async function exported(
  connection: EngineConnection,
  { readBase }: DetectedEngine,
  { matchers, fromMs, toMs, signal }: RawRange,
): Promise<readonly SelectedSeries[]> {
  const form = new URLSearchParams({
    "match[]": selectorText(matchers),
    start: secondsText(fromMs),
    end: secondsText(toMs),
  });
  const answer = await connection.post(`${readBase}/api/v1/export`, { form, timeoutMs, signal });
  if (answer.status !== 200) readResponse(answer);
  return readExport(answer.body);
}

/** A range selector is left-closed before Prometheus 3 and left-open since: requests one more sample, and drops it here. */
async function queried(
  connection: EngineConnection,
  { readBase }: DetectedEngine,
  { matchers, fromMs, toMs, signal }: RawRange,
): Promise<readonly SelectedSeries[]> {
  const form = new URLSearchParams({
    query: `${selectorText(matchers)}[${toMs - fromMs + 1}ms]`,
    time: secondsText(toMs),
  });
  const answer = await connection.post(`${readBase}/api/v1/query`, { form, timeoutMs, signal });
  const { data } = readResult(answer);
  if (data.type !== "matrix") throw new QueryError("execution", "the store gave no range");
  return data.series.flatMap((series) => {
    const column = columnOf(series, fromMs);
    return column === undefined ? [] : [{ labels: series.labels, column }];
  });
}

/** Floats and native histograms from this time on, in time order. */
function columnOf(
  { times, values, histograms = [] }: MatrixSeries,
  fromMs: number,
): SampleColumn | undefined {
  const first = times.findIndex((timeMs) => timeMs >= fromMs);
  const native = histograms.filter(({ timeMs }) => timeMs >= fromMs);
  if (first < 0 && native.length === 0) return undefined;
  const floats = { times: times.subarray(first), values: values.subarray(first) };
  if (native.length === 0) return floats;
  const points = [
    ...Array.from(first < 0 ? [] : floats.times, (timeMs, at) => ({
      timeMs,
      value: floats.values[at] ?? Number.NaN,
      histogram: undefined,
    })),
    ...native.map((point) => ({ ...point, value: Number.NaN })),
  ].sort((a, b) => a.timeMs - b.timeMs);
  return {
    times: Float64Array.from(points, ({ timeMs }) => timeMs),
    values: Float64Array.from(points, ({ value }) => value),
    histograms: points.map(({ histogram }) => histogram),
  };
}

const isTooLarge = (thrown: unknown): boolean =>
  thrown instanceof QueryError &&
  thrown.kind === "execution" &&
  /larger than|too many samples|exceeded .*limit|-search\.max/i.test(thrown.message);
