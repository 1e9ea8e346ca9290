/** A query's answer as Prometheus writes it, straight into bytes. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { formatValue } from "../../formats/prometheus/page.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { MatrixSeries, QueryData, QueryResult, QueryStats } from "../../query/result.ts";
import { noStore } from "../reply.ts";
import { BytesWriter } from "./bytes.ts";
import { Params } from "./params.ts";

/** A millisecond or two of work. */
const partBytes = 256 * 1024;

export interface ResponseAnnotations {
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
}

/** `{"status":"success","data":…}` around what is already JSON. */
export function success(
  data: string,
  { warnings, infos }: ResponseAnnotations = { warnings: [], infos: [] },
): string {
  return `{"status":"success","data":${data}${notes(warnings, infos)}}`;
}

function notes(warnings: readonly string[], infos: readonly string[]): string {
  const list = (name: string, texts: readonly string[]): string =>
    texts.length === 0 ? "" : `,"${name}":${JSON.stringify(texts)}`;
  return list("warnings", warnings) + list("infos", infos);
}

/** In parts, each made when it is asked for: a large response is never in memory as a whole. */
export function* queryParts(
  { data, warnings, infos, stats }: QueryResult,
  wantsStats: "none" | "some" | "all",
): Generator<Buffer, void> {
  const writer = new BytesWriter();
  writer.ascii(`{"status":"success","data":{"resultType":"${data.type}","result":`);
  yield* dataParts(writer, data);
  if (wantsStats !== "none")
    writer.ascii(`,"stats":${JSON.stringify(statsJson(stats, wantsStats === "all"))}`);
  writer.ascii("}");
  writer.text(notes(warnings, infos));
  writer.ascii("}");
  yield writer.take();
}

function* dataParts(writer: BytesWriter, data: QueryData): Generator<Buffer, void> {
  if (data.type === "scalar")
    return writer.ascii(`[${formatSeconds(data.timeMs)},"${formatValue(data.value)}"]`);
  if (data.type === "string")
    return writer.text(`[${formatSeconds(data.timeMs)},${JSON.stringify(data.value)}]`);
  const times = new TimeTexts();
  let comma = "";
  writer.ascii("[");
  for (const one of data.type === "vector" ? data.samples : data.series) {
    writer.ascii(`${comma}{"metric":`);
    comma = ",";
    writer.text(labelsJson(one.labels));
    if ("times" in one) writeValues(writer, one, times);
    else writer.ascii(`,"value":[${formatSeconds(one.timeMs)},"${formatValue(one.value)}"]}`);
    if (writer.length >= partBytes) yield writer.take();
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
    const made = Buffer.from(`[${formatSeconds(timeMs)},"`, "latin1");
    // Instants of raw samples may all differ: what is not repeated is not worth keeping.
    if (this.#known.size < 100_000) this.#known.set(timeMs, made);
    return made;
  }
}

/** Milliseconds as seconds with up to three decimals, exactly. */
export function formatSeconds(timeMs: number): string {
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

export const sendSuccess = (reply: FastifyReply, data: unknown): FastifyReply =>
  noStore(reply.type("application/json")).send(success(JSON.stringify(data)));

/** A GET route that answers with data in Prometheus's envelope. */
export function addDataRoute(
  app: FastifyInstance,
  url: string,
  data: (params: Params) => unknown,
): void {
  app.get(url, async (request, reply) => sendSuccess(reply, data(Params.of(request))));
}
