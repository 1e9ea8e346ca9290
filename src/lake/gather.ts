/**
 * Collects frames and samples into rows. Metrics with a column in the catalogue become part of the row of their GPU and instant,
 * all others rows of the long table. The mapping of a layout or a series is computed once.
 */
import { histogramAt, type SampleBatch, wordsOf } from "../formats/samples/batch.ts";
import { readLabelBlock } from "../formats/samples/labels.ts";
import { findMetric, gpu, type MetricEntry } from "../model/catalogue/index.ts";
import { type Device, deviceFromLabels, deviceKey } from "../model/device.ts";
import type { Frame } from "../model/frame.ts";
import type { Histogram } from "../model/histogram/histogram.ts";
import { type LabelSet, labelValue } from "../model/labels.ts";
import type { Layout, Series } from "../model/layout.ts";
import { presence } from "../model/presence.ts";
import { isStale } from "../model/stale.ts";
import { columnOf } from "../model/columns.ts";
import type { CommittedTable, GrowingNumber, GrowingRows } from "./table.ts";

/** Returns the rows of a table for an instant, by day. Undefined: already written and skipped. */
export type RowsAt = (table: CommittedTable, timeMs: number) => GrowingRows | undefined;

export interface FrameRows {
  readonly frame: Frame;
  readonly devices: readonly Device[];
  /** Used if the series have no host label. */
  readonly host: string;
  readonly tags?: ReadonlyMap<string, readonly string[]> | undefined;
}

interface GpuIdentity {
  readonly uuid: string;
  readonly index: number | undefined;
  readonly host: string | undefined;
}

interface GpuPlan extends GpuIdentity {
  readonly cells: readonly (readonly [slot: number, column: string])[];
  /** The columns of the cells, found as they get values. */
  readonly columns: WeakMap<GrowingRows, (GrowingNumber | undefined)[]>;
  /** The key of its rows, for frames from this host. */
  key: { readonly host: string; readonly text: string };
}

interface LongCell {
  /** The series' key: computed once, since it is long and part of every row. */
  readonly who: string;
  readonly name: string;
  readonly labels: string;
  readonly host: string | undefined;
  readonly uuid: string | undefined;
  /** True if the value never changes: one row per file is enough. */
  readonly once: boolean;
}

interface LayoutPlan {
  readonly gpus: readonly GpuPlan[];
  readonly long: readonly (readonly [slot: number, cell: LongCell])[];
}

type SamplePlan =
  | { readonly kind: "cell"; readonly gpu: GpuIdentity; readonly column: string }
  | { readonly kind: "long"; readonly cell: LongCell };

/** Limit of cached series by their encoded labels; a sender that changes labels all the time empties the cache. */
const maxSeries = 400_000;
/** Labels of the scrape, which are not properties of the GPU. */
const collected = new Set(["__name__", "job", "instance"]);

export class Gatherer {
  readonly #layouts = new WeakMap<Layout, LayoutPlan>();
  readonly #series = new Map<string, SamplePlan>();
  readonly #devices = new Map<string, Pick<Device, "vendor" | "model" | "simulated">>();
  /** What the previous frame reported of its devices: frames of one sender often follow each other. */
  #sender: Sender | undefined;

  frame({ frame, devices, host, tags }: FrameRows, rowsAt: RowsAt): void {
    const timeMs = Math.round(frame.timeMs);
    let plan = this.#layouts.get(frame.layout);
    if (plan === undefined) this.#layouts.set(frame.layout, (plan = planLayout(frame.layout)));
    const of = { devices, layout: frame.layout, host };
    if (!isSameSender(of, this.#sender)) this.#learnDevices((this.#sender = of));
    for (const one of plan.gpus) {
      if (!one.cells.some(([slot]) => frame.presence[slot] === presence.present)) continue;
      const rows = rowsAt("gpu", timeMs);
      if (rows === undefined) continue;
      const key = keyOf(one, host);
      const row = this.#row(rows, timeMs, one, host, key);
      const found = tags?.get(one.uuid);
      if (found !== undefined && found.length > 0) rows.setText(row, "tags", found.join(","));
      let columns = one.columns.get(rows);
      if (columns === undefined) one.columns.set(rows, (columns = []));
      for (let cell = 0; cell < one.cells.length; cell++) {
        const [slot, name] = one.cells[cell] as GpuPlan["cells"][number];
        if (frame.presence[slot] !== presence.present) continue;
        const column = (columns[cell] ??= rows.numbers(name));
        column.values[row] = frame.values[slot] as number;
        column.present[row] = 1;
      }
    }
    for (const [slot, cell] of plan.long) {
      if (frame.presence[slot] !== presence.present) continue;
      const rows = rowsAt("series", timeMs);
      if (rows !== undefined) addLong(rows, timeMs, cell, frame.values[slot] as number, host);
    }
  }

  #learnDevices({ devices, layout, host }: Sender): void {
    for (const device of devices) this.#devices.set(deviceKey(host, device.uuid), device);
    for (const { host: own = host, device } of describedDevices(layout))
      this.#devices.set(deviceKey(own, device.uuid), device);
  }

  samples(batch: SampleBatch, rowsAt: RowsAt): void {
    const words = wordsOf(batch);
    const text = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
    const plans: (SamplePlan | undefined)[] = [];
    for (let at = 0; at < batch.sampleCount; at++) {
      // A staleness marker has no value.
      if (isStale(words, at)) continue;
      const series = batch.sampleSeries[at] as number;
      const plan = (plans[series] ??= this.#planOf(batch, series, text));
      const timeMs = batch.times[at] as number;
      const histogram = histogramAt(batch, words, at);
      if (histogram !== undefined) {
        addHistogram(rowsAt("series", timeMs), timeMs, plan, histogram);
        continue;
      }
      const value = batch.values[at] as number;
      const rows = rowsAt(plan.kind === "cell" ? "gpu" : "series", timeMs);
      if (rows === undefined) continue;
      if (plan.kind === "long") addLong(rows, timeMs, plan.cell, value, undefined);
      else rows.setNumber(this.#row(rows, timeMs, plan.gpu, undefined), plan.column, value);
    }
  }

  #row(
    rows: GrowingRows,
    timeMs: number,
    { uuid, index, host }: GpuIdentity,
    otherHost: string | undefined,
    key = deviceKey(host ?? otherHost ?? "", uuid),
  ): number {
    const before = rows.count;
    const row = rows.row(key, timeMs);
    if (rows.count === before) return row;
    rows.setText(row, "uuid", uuid);
    rows.setText(row, "host", host ?? otherHost);
    if (index !== undefined) rows.setNumber(row, "gpu", index);
    const device = this.#devices.get(key);
    if (device === undefined) return row;
    rows.setText(row, "vendor", device.vendor);
    rows.setText(row, "model", device.model);
    rows.setNumber(row, "simulated", device.simulated ? 1 : 0);
    return row;
  }

  #planOf(batch: SampleBatch, series: number, text: Buffer): SamplePlan {
    const [start, end] = [batch.labelStarts[series] ?? 0, batch.labelEnds[series] ?? 0];
    const key = text.toString("latin1", start, end);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= maxSeries) this.#series.clear();
    const plan = planSample(readLabelBlock(batch.bytes, start, end), (labels) =>
      this.#learn(labels),
    );
    this.#series.set(key, plan);
    return plan;
  }

  /** Samples carry no device: it is taken from the labels of their `gpu_info`. */
  #learn(labels: LabelSet): void {
    const device = deviceFromLabels(Object.fromEntries(labels));
    if (device === undefined) return;
    this.#devices.set(deviceKey(labelValue(labels, "host") ?? "", device.uuid), device);
  }
}

/** The table has the count and sum of a native histogram, under the names used beside classic buckets. */
function addHistogram(
  rows: GrowingRows | undefined,
  timeMs: number,
  plan: SamplePlan,
  { count, sum }: Histogram,
): void {
  if (rows === undefined || plan.kind === "cell") return;
  const { cell } = plan;
  const of = (suffix: string): LongCell => ({
    ...cell,
    who: `${cell.who}${suffix}`,
    name: `${cell.name}${suffix}`,
  });
  addLong(rows, timeMs, of("_count"), count, undefined);
  addLong(rows, timeMs, of("_sum"), sum, undefined);
}

interface Sender extends Pick<FrameRows, "devices" | "host"> {
  readonly layout: Layout;
}

const isSameSender = (one: Sender, other: Sender | undefined): boolean =>
  one.devices === other?.devices && one.layout === other.layout && one.host === other.host;

function keyOf(plan: GpuPlan, otherHost: string): string {
  const host = plan.host ?? otherHost;
  if (plan.key.host !== host) plan.key = { host, text: deviceKey(host, plan.uuid) };
  return plan.key.text;
}

interface DescribedDevice {
  readonly host: string | undefined;
  readonly device: Device;
}

/** The devices that a layout's `gpu_info` describes. */
function describedDevices(layout: Layout): readonly DescribedDevice[] {
  let found = devicesOf.get(layout);
  if (found === undefined) {
    found = layout.series.flatMap(({ metric, labels }) => {
      if (metric !== gpu.info) return [];
      const device = deviceFromLabels(Object.fromEntries(labels));
      return device === undefined ? [] : [{ host: labelValue(labels, "host"), device }];
    });
    devicesOf.set(layout, found);
  }
  return found;
}
const devicesOf = new WeakMap<Layout, readonly DescribedDevice[]>();

function planLayout({ series }: Layout): LayoutPlan {
  const gpus = new Map<string, GpuPlan & { readonly cells: [number, string][] }>();
  const ofTheHost: [number, string][] = [];
  const long: [number, LongCell][] = [];
  series.forEach((one, slot) => {
    const column = columnOf(one);
    const uuid = labelValue(one.labels, "uuid");
    if (column !== undefined && uuid !== undefined) {
      const key = deviceKey(labelValue(one.labels, "host") ?? "", uuid);
      let found = gpus.get(key);
      if (found === undefined) {
        const identity = gpuOf(uuid, one.labels);
        const [host, text] = [identity.host ?? "", deviceKey(identity.host ?? "", uuid)];
        gpus.set(
          key,
          (found = { ...identity, cells: [], columns: new WeakMap(), key: { host, text } }),
        );
      }
      found.cells.push([slot, column]);
    } else if (column !== undefined && one.metric.subject === "host")
      ofTheHost.push([slot, column]);
    else long.push([slot, longCell(one.metric, one.metric.name + one.suffix, one.labels)]);
  });
  if (gpus.size === 0)
    for (const [slot] of ofTheHost) {
      const one = series[slot] as Series;
      long.push([slot, longCell(one.metric, one.metric.name, one.labels)]);
    }
  return {
    gpus: [...gpus.values()].map((one) => ({ ...one, cells: [...one.cells, ...ofTheHost] })),
    long,
  };
}

function planSample(labels: LabelSet, learn: (labels: LabelSet) => void): SamplePlan {
  const name = labelValue(labels, "__name__") ?? "";
  const metric = findMetric(name);
  const own = labels.filter(([label]) => !collected.has(label));
  const uuid = labelValue(labels, "uuid");
  if (metric === gpu.info) learn(own);
  const column =
    metric === undefined || uuid === undefined
      ? undefined
      : columnOf({ metric, suffix: "", labels: own });
  if (column !== undefined && uuid !== undefined)
    return { kind: "cell", gpu: gpuOf(uuid, labels), column };
  return { kind: "long", cell: longCell(metric, name, labels) };
}

function gpuOf(uuid: string, labels: LabelSet): GpuIdentity {
  const index = Number(labelValue(labels, "gpu") ?? Number.NaN);
  return {
    uuid,
    index: Number.isInteger(index) && index >= 0 && index < 2 ** 31 ? index : undefined,
    host: labelValue(labels, "host"),
  };
}

function longCell(metric: MetricEntry | undefined, name: string, labels: LabelSet): LongCell {
  const others = labels.filter(([label]) => label !== "__name__");
  const text = JSON.stringify(Object.fromEntries(others));
  return {
    who: `${name}\u0000${text}`,
    name,
    labels: text,
    host: labelValue(labels, "host"),
    uuid: labelValue(labels, "uuid"),
    once: metric?.kind === "info" && metric.tier === "static",
  };
}

function addLong(
  rows: GrowingRows,
  timeMs: number,
  { who, name, labels, host, uuid, once }: LongCell,
  value: number,
  otherHost: string | undefined,
): void {
  if (once && rows.has(who)) return;
  const row = rows.row(who, timeMs);
  rows.setText(row, "name", name);
  rows.setText(row, "labels", labels);
  rows.setText(row, "host", host ?? otherHost);
  rows.setText(row, "uuid", uuid);
  rows.setNumber(row, "value", value);
}
