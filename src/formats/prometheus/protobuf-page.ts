/**
 * Writes frames as a page of the protobuf exposition: each family preceded by its length (see exposition/protobuf.ts for the
 * messages). Classic histograms include their native form beside their buckets, if the program observes one.
 */
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { familyTypes, putLabels, putNative } from "../exposition/write-protobuf.ts";
import { ProtoWriter } from "../protobuf/writer.ts";
import { unitOf } from "./page.ts";

/** The native form of a histogram of the page; undefined if it has none. */
export type NativeOf = (metric: MetricEntry, labels: LabelSet) => Histogram | undefined;

/** The position of a value in the frames. */
interface Cell {
  readonly frameIndex: number;
  readonly slot: number;
}

interface Metric {
  readonly labels: LabelSet;
  /** The encoded label fields. */
  readonly encoded: Uint8Array;
  /** The value of a number. */
  readonly cell?: Cell;
  /** The parts of a histogram. */
  count?: Cell;
  sum?: Cell;
  readonly buckets: { readonly bound: number; readonly cell: Cell }[];
}

interface Family {
  readonly metric: MetricEntry;
  readonly metrics: Metric[];
}

interface Plan {
  readonly layouts: readonly Layout[];
  readonly families: readonly Family[];
}

/** The field of a Metric that holds a number of this kind, with its wire type. */
const numberTags = { counter: 0x1a, gauge: 0x12, info: 0x12 } as const;

export class ProtobufPageWriter {
  #plan: Plan = { layouts: [], families: [] };
  readonly #family = new ProtoWriter(64 * 1_024);

  /** One part per family. */
  *parts(frames: readonly Frame[], nativeOf: NativeOf = () => undefined): Generator<Buffer> {
    const { layouts } = this.#plan;
    const isPlanned =
      layouts.length === frames.length && frames.every(({ layout }, i) => layout === layouts[i]);
    if (!isPlanned) this.#plan = planPage(frames);
    const valueAt = ({ frameIndex, slot }: Cell): number | undefined => {
      const frame = frames[frameIndex];
      return frame?.presence[slot] === presence.present ? frame.values[slot] : undefined;
    };
    for (const { metric, metrics } of this.#plan.families) {
      const out = this.#family;
      out.clear();
      putHeader(out, metric);
      const before = out.length;
      for (const one of metrics) putMetric(out, metric, one, valueAt, nativeOf);
      if (out.length === before) continue;
      const message = out.finish();
      const page = new ProtoWriter(message.length + 5);
      page.varint(message.length);
      page.raw(message);
      yield page.finish();
    }
  }
}

function putHeader(out: ProtoWriter, metric: MetricEntry): void {
  out.text(0x0a, metric.name);
  out.text(0x12, metric.help);
  out.int(0x18, familyTypes[metric.kind === "info" ? "gauge" : metric.kind]);
  const unit = unitOf(metric, metric.name.replace(/_total$/, ""));
  if (unit !== undefined) out.text(0x2a, unit);
}

function putMetric(
  out: ProtoWriter,
  entry: MetricEntry,
  { labels, encoded, cell, count, sum, buckets }: Metric,
  valueAt: (cell: Cell) => number | undefined,
  nativeOf: NativeOf,
): void {
  const { kind } = entry;
  if (kind !== "histogram") {
    const value = cell && valueAt(cell);
    if (value === undefined) return;
    out.message(0x22, () => {
      out.raw(encoded);
      out.message(numberTags[kind], () => out.double(0x09, value));
    });
    return;
  }
  const observed = count && valueAt(count);
  if (observed === undefined) return;
  const native = nativeOf(entry, labels);
  out.message(0x22, () => {
    out.raw(encoded);
    out.message(0x3a, () => {
      if (native === undefined) {
        out.int(0x08, observed);
        out.double(0x11, (sum && valueAt(sum)) ?? Number.NaN);
      } else putNative(out, native);
      for (const { bound, cell: below } of buckets) {
        const value = valueAt(below);
        if (value === undefined || bound === Infinity) continue;
        out.message(0x1a, () => {
          out.int(0x08, value);
          out.double(0x11, bound);
        });
      }
    });
  });
}

/** Families appear once and series are unique: if two sources report the same series, the first one wins. */
function planPage(frames: readonly Frame[]): Plan {
  const families = new Map<string, Family>();
  const seen = new Map<string, Metric>();
  for (const [frameIndex, { layout }] of frames.entries())
    for (const [slot, { metric, suffix, labels }] of layout.series.entries()) {
      const family = families.get(metric.name) ?? { metric, metrics: [] };
      families.set(metric.name, family);
      const own = suffix === "_bucket" ? labels.filter(([name]) => name !== "le") : labels;
      const key = `${metric.name} ${labelKey(own)}`;
      const known = seen.get(key);
      const cell = { frameIndex, slot };
      if (metric.kind !== "histogram") {
        if (known !== undefined) continue;
        const made = { labels: own, encoded: encodeLabels(own), cell, buckets: [] };
        seen.set(key, made);
        family.metrics.push(made);
        continue;
      }
      const histogram = known ?? { labels: own, encoded: encodeLabels(own), buckets: [] };
      if (known === undefined) {
        seen.set(key, histogram);
        family.metrics.push(histogram);
      }
      if (suffix === "_count") histogram.count ??= cell;
      else if (suffix === "_sum") histogram.sum ??= cell;
      else {
        const bound = Number(
          labels.find(([name]) => name === "le")?.[1].replace("+Inf", "Infinity"),
        );
        if (!histogram.buckets.some((one) => one.bound === bound))
          histogram.buckets.push({ bound, cell });
      }
    }
  return { layouts: frames.map(({ layout }) => layout), families: [...families.values()] };
}

function encodeLabels(labels: LabelSet): Uint8Array {
  const out = new ProtoWriter(128);
  putLabels(out, labels);
  return Uint8Array.from(out.finish());
}
