/**
 * `/federate`: the newest sample of every selected series, as a page for another Prometheus to scrape. A series that ended or
 * has no sample within the look-back is left out. Native histograms are on protobuf pages only, as in Prometheus.
 */
import type { FastifyInstance } from "fastify";
import {
  protobufContentType,
  type WrittenMetric,
  type WrittenType,
  writeFamily,
} from "../../formats/exposition/write-protobuf.ts";
import { prefersProtobuf } from "../../formats/prometheus/negotiate.ts";
import { formatValue, contentTypes } from "../../formats/prometheus/page.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { Label, LabelSet } from "../../model/labels.ts";
import type { SampleColumn, Matcher } from "../../model/select.ts";
import { streamParts } from "../stream-parts.ts";
import type { ApiContext } from "./context.ts";
import { PrometheusApiError } from "./failure.ts";
import { Params } from "./params.ts";
import { reserveFor } from "./reserve.ts";
import { matcherSets } from "./series.ts";

const lookbackMs = 5 * 60_000;
/** Takes a millisecond or two to build. */
const partLetters = 256 * 1024;

export interface FederateOptions {
  /** Labels added to series that do not have them. */
  readonly externalLabels?: LabelSet;
}

export function addFederate(
  app: FastifyInstance,
  context: ApiContext,
  { externalLabels = [] }: FederateOptions = {},
): void {
  const { history, metadata, nowMs } = context;
  app.get("/federate", async (request, reply) => {
    const sets = matcherSets(Params.of(request));
    if (sets.length === 0)
      throw new PrometheusApiError("bad_data", "no match[] parameter provided");
    const abort = new AbortController();
    reply.raw.once("close", () => abort.abort());
    const reservation = reserveFor(context, request, reply);
    const toMs = nowMs();
    const select = (matchers: readonly Matcher[]): ReturnType<typeof history.select> =>
      history.select(matchers, toMs - lookbackMs + 1, toMs, abort.signal, reservation);
    const isProtobuf = prefersProtobuf(request.headers.accept);
    const lines = new Map<string, FederateLine>();
    for (const matchers of sets) {
      for (const { labels, column } of await select(matchers)) {
        const newest = newestOf(column);
        if (newest === undefined) continue;
        if (newest.histogram !== undefined && !isProtobuf) continue;
        const line = lineOf(withExternal(labels, externalLabels), newest);
        reservation?.hold(4 * line.text.length);
        // Emits a series once even if several selectors match it.
        lines.set(line.head, line);
      }
    }
    const types = metadata.list(undefined, 0);
    // Classic histograms are stored as separate series, none of which has the type histogram.
    const typeOf = (name: string): WrittenType => {
      const type = types[name]?.[0]?.type;
      return type === "counter" || type === "gauge" ? type : "untyped";
    };
    if (isProtobuf)
      return reply
        .header("content-type", protobufContentType)
        .header("cache-control", "no-store")
        .send(streamParts(protobufPage([...lines.values()], typeOf)));
    return reply
      .header("content-type", contentTypes.text)
      .header("cache-control", "no-store")
      .send(streamParts(page([...lines.values()], typeOf)));
  });
}

interface FederateLine extends WrittenMetric {
  readonly name: string;
  readonly head: string;
  readonly text: string;
}

interface NewestSample {
  readonly timeMs: number;
  readonly value: number;
  /** Set instead of `value`. */
  readonly histogram: Histogram | undefined;
}

function newestOf({ times, values, stale, histograms }: SampleColumn): NewestSample | undefined {
  const last = times.length - 1;
  if (last < 0 || stale?.[last] === 1) return undefined;
  return {
    timeMs: times[last] as number,
    value: values[last] as number,
    histogram: histograms?.[last],
  };
}

function withExternal(labels: LabelSet, external: LabelSet): LabelSet {
  if (external.length === 0) return labels;
  const own = new Set(labels.map(([name]) => name));
  const added = external.filter(([name]) => !own.has(name));
  return [...labels, ...added].sort(([left], [right]) => (left < right ? -1 : 1));
}

function lineOf(labels: LabelSet, { timeMs, value, histogram }: NewestSample): FederateLine {
  const name = labels.find(([label]) => label === "__name__")?.[1] ?? "";
  const rest = labels.filter(([label]) => label !== "__name__");
  const shown: readonly Label[] = rest.some(([label]) => label === "instance")
    ? rest
    : // Federation uses honor_labels: an empty instance prevents the scraper's own from being added.
      [...rest, ["instance", ""] as const].sort(([left], [right]) => (left < right ? -1 : 1));
  const plainName = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name);
  const inside = shown.map(([label, text]) => `${labelText(label)}="${escapeText(text)}"`);
  const head = plainName
    ? `${name}{${inside.join(",")}}`
    : `{${[`"${escapeText(name)}"`, ...inside].join(",")}}`;
  const text = `${head} ${formatValue(value)} ${timeMs}\n`;
  return { name, head, text, labels: shown, timeMs, value: histogram ?? value };
}

const labelText = (name: string): string =>
  /^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name) ? name : `"${escapeText(name)}"`;

const escapeText = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

/** Families in order of name, each preceded by its type. */
function* page(lines: FederateLine[], typeOf: (name: string) => string): Generator<string, void> {
  lines.sort((a, b) => compare(a.name, b.name) || compare(a.head, b.head));
  let text = "";
  let family = "";
  for (const line of lines) {
    if (line.name !== family) {
      family = line.name;
      const shown = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(family) ? family : `"${escapeText(family)}"`;
      text += `# TYPE ${shown} ${typeOf(family)}\n`;
    }
    text += line.text;
    if (text.length < partLetters) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** Families in order of name; floats and histograms of one name are two families, as in Prometheus. */
function* protobufPage(
  lines: FederateLine[],
  typeOf: (name: string) => WrittenType,
): Generator<Buffer, void> {
  const families = new Map<string, { name: string; type: WrittenType; lines: FederateLine[] }>();
  for (const line of lines) {
    const type = familyType(line, typeOf);
    const key = `${line.name} ${type}`;
    const family = families.get(key) ?? { name: line.name, type, lines: [] };
    families.set(key, family);
    family.lines.push(line);
  }
  for (const key of [...families.keys()].sort(compare)) {
    const family = families.get(key);
    if (family !== undefined) yield writeFamily(family.name, family.type, family.lines);
  }
}

function familyType(
  { name, value }: FederateLine,
  typeOf: (name: string) => WrittenType,
): WrittenType {
  if (typeof value === "number") return typeOf(name);
  return value.resetHint === "gauge" ? "gaugehistogram" : "histogram";
}

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);
