/**
 * Parses VictoriaMetrics's export, one line of JSON per series: `{"metric":{…},"values":[1.5,null],"timestamps":[…]}`.
 * Infinities are not quoted. The only NaN it stores is the staleness marker, which it writes as null.
 */
import type { LabelSet } from "../../model/labels.ts";
import { StoreError } from "../embedded/error.ts";
import type { SampleColumn, SelectedSeries } from "../../model/select.ts";
import { labelsOf, numberOf } from "./response.ts";

const valuesMark = ',"values":[';
const timesMark = '],"timestamps":[';

export function readExport(body: Buffer): SelectedSeries[] {
  const series: SelectedSeries[] = [];
  for (let start = 0; start < body.length;) {
    const newline = body.indexOf(0x0a, start);
    const end = newline < 0 ? body.length : newline;
    if (end > start) series.push(readLine(body.toString("utf8", start, end)));
    start = end + 1;
  }
  return series;
}

/** Numbers contain no quotes, so the last occurrences of the keys are the real ones, whatever the labels contain. */
function readLine(line: string): SelectedSeries {
  const values = line.lastIndexOf(valuesMark);
  const times = line.lastIndexOf(timesMark);
  if (values < 0 || times < values || !line.endsWith("]}")) throw strange();
  return {
    labels: labels(`${line.slice(0, values)}}`),
    column: column(
      line.slice(values + valuesMark.length, times).split(","),
      line.slice(times + timesMark.length, -2).split(","),
    ),
  };
}

function labels(text: string): LabelSet {
  try {
    return labelsOf((JSON.parse(text) as { metric?: unknown }).metric);
  } catch (thrown) {
    throw thrown instanceof StoreError ? thrown : strange();
  }
}

function column(valueTexts: readonly string[], timeTexts: readonly string[]): SampleColumn {
  if (valueTexts.length !== timeTexts.length) throw strange();
  const times = Float64Array.from(timeTexts, Number);
  if (times.some((timeMs) => !Number.isSafeInteger(timeMs))) throw strange();
  const ended = valueTexts.map((text) => text === "null");
  const values = Float64Array.from(valueTexts, (text) =>
    text === "null" ? Number.NaN : numberOf(text.replaceAll('"', "")),
  );
  return withoutTwins(
    ended.includes(true)
      ? { times, values, stale: Uint8Array.from(ended, Number) }
      : { times, values },
  );
}

/** VictoriaMetrics stores a sample again if it is sent twice; the later one counts. */
function withoutTwins({ times, values, stale }: SampleColumn): SampleColumn {
  const last = (timeMs: number, at: number): boolean => times[at + 1] !== timeMs;
  if (times.every(last)) return { times, values, ...(stale === undefined ? {} : { stale }) };
  const stays = (_: number, at: number): boolean => last(times[at] ?? 0, at);
  return {
    times: times.filter(stays),
    values: values.filter(stays),
    ...(stale === undefined ? {} : { stale: stale.filter(stays) }),
  };
}

const strange = (): StoreError =>
  new StoreError("unavailable", "the store exported otherwise than VictoriaMetrics does");
