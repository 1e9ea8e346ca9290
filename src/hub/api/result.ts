/** A query's answer as Prometheus writes it, straight into bytes. */
import { formatValue } from "../../formats/prometheus/number.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { MatrixSeries, QueryData, QueryResult, QueryStats } from "../../query/result.ts";
import { BytesWriter } from "./bytes.ts";

export interface Envelope {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** `{"status":"success","data":…}` around what is already JSON. */
export function success(
  data: string,
  { warnings, infos }: Envelope = { warnings: [], infos: [] },
): string {
  return `{"status":"success","data":${data}${notes(warnings, infos)}}`;
}

function notes(warnings: readonly string[], infos: readonly string[]): string {
  const list = (name: string, texts: readonly string[]): string =>
    texts.length === 0 ? "" : `,"${name}":${JSON.stringify(texts)}`;
  return list("warnings", warnings) + list("infos", infos);
}

export function queryAnswer(
  { data, warnings, infos, stats }: QueryResult,
  wantsStats: "none" | "some" | "all",
): Buffer {
  const writer = new BytesWriter();
  writer.ascii(`{"status":"success","data":{"resultType":"${data.type}","result":`);
  writeData(writer, data);
  if (wantsStats !== "none")
    writer.ascii(`,"stats":${JSON.stringify(statsJson(stats, wantsStats === "all"))}`);
  writer.ascii("}");
  writer.text(notes(warnings, infos));
  writer.ascii("}");
  return writer.finish();
}

function writeData(writer: BytesWriter, data: QueryData): void {
  if (data.type === "scalar")
    return writer.ascii(`[${seconds(data.timeMs)},"${formatValue(data.value)}"]`);
  if (data.type === "string")
    return writer.text(`[${seconds(data.timeMs)},${JSON.stringify(data.value)}]`);
  writer.ascii("[");
  if (data.type === "vector") {
    data.samples.forEach(({ labels, timeMs, value }, index) => {
      writer.ascii(index === 0 ? '{"metric":' : ',{"metric":');
      writer.text(labelsJson(labels));
      writer.ascii(`,"value":[${seconds(timeMs)},"${formatValue(value)}"]}`);
    });
  } else {
    const times = new TimeTexts();
    data.series.forEach((series, index) => {
      writer.ascii(index === 0 ? '{"metric":' : ',{"metric":');
      writer.text(labelsJson(series.labels));
      writeValues(writer, series, times);
    });
  }
  writer.ascii("]");
}

function writeValues(writer: BytesWriter, { times, values }: MatrixSeries, texts: TimeTexts): void {
  writer.ascii(',"values":[');
  for (let index = 0; index < times.length; index++) {
    if (index > 0) writer.ascii(",");
    writer.raw(texts.of(times[index] ?? 0));
    writer.ascii(`${formatValue(values[index] ?? Number.NaN)}"]`);
  }
  writer.ascii("]}");
}

/** A range query has the same instants in every series: each is turned into text once. */
class TimeTexts {
  readonly #known = new Map<number, Buffer>();

  of(timeMs: number): Buffer {
    const known = this.#known.get(timeMs);
    if (known !== undefined) return known;
    const made = Buffer.from(`[${seconds(timeMs)},"`, "latin1");
    // Instants of raw samples may all differ: what is not repeated is not worth keeping.
    if (this.#known.size < 100_000) this.#known.set(timeMs, made);
    return made;
  }
}

/** Milliseconds as seconds with up to three decimals, exactly. */
export function seconds(timeMs: number): string {
  const whole = Math.trunc(timeMs / 1_000);
  const rest = Math.abs(timeMs % 1_000);
  if (rest === 0) return String(whole);
  const sign = timeMs < 0 && whole === 0 ? "-" : "";
  return `${sign}${whole}.${String(rest).padStart(3, "0").replace(/0+$/, "")}`;
}

export function labelsJson(labels: LabelSet): string {
  let text = "{";
  for (const [name, value] of labels)
    text += `${text === "{" ? "" : ","}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `${text}}`;
}

function statsJson(stats: QueryStats, all: boolean): unknown {
  const evalSeconds = stats.evalMs / 1_000;
  const selectSeconds = stats.selectMs / 1_000;
  return {
    timings: {
      evalTotalTime: evalSeconds + selectSeconds,
      queryPreparationTime: selectSeconds,
      innerEvalTime: evalSeconds,
      execTotalTime: evalSeconds + selectSeconds,
    },
    samples: {
      totalQueryableSamples: stats.totalSamples,
      peakSamples: stats.peakSamples,
      ...(all && stats.samplesPerStep !== undefined
        ? {
            totalQueryableSamplesPerStep: stats.samplesPerStep.map(([timeMs, count]) => [
              timeMs / 1_000,
              count,
            ]),
          }
        : {}),
    },
  };
}
