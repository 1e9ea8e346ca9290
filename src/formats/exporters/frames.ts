/**
 * Samples of GPU exporters as frames: one for each target and instant, with the devices they describe. What is not about a
 * GPU is ignored. Series and layouts are remembered, within limits: a target that invents GPUs starts them over.
 */
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { seriesKey } from "../../model/layout.ts";
import { type ListedReading, ReadingFrames } from "../../model/reading-frames.ts";
import type { MetricEntry } from "../../model/catalogue/entry.ts";
import { isStale } from "../../model/stale.ts";
import type { GpuOwner } from "../compat/row.ts";
import { type SampleBatch, wordsOf } from "../samples/batch.ts";
import { readLabelBlock } from "../samples/labels.ts";
import {
  ownExporter,
  type SeriesOrigin,
  translateSeries,
  type TranslatedSeries,
} from "./translate.ts";

export interface ExporterFrame {
  readonly exporter: string;
  readonly origin: SeriesOrigin;
  readonly host: string;
  readonly frame: Frame;
  readonly devices: readonly Device[];
  /** The samples had our own names already. */
  readonly isOwn: boolean;
}

export interface ExporterLimits {
  /** Series remembered in all, those that are none of a GPU included. */
  readonly series: number;
  /** GPUs of one target; more of them are ignored and counted. */
  readonly gpusPerTarget: number;
}

const defaultLimits: ExporterLimits = { series: 500_000, gpusPerTarget: 1_024 };

interface Target {
  readonly exporter: string;
  readonly origin: SeriesOrigin;
  readonly host: string;
  readonly devices: Map<string, Device>;
  readonly owners: Map<string, GpuOwner | undefined>;
  readonly frames: ReadingFrames;
}

interface KnownSeries {
  readonly series: TranslatedSeries;
  readonly key: string;
}

export class ExporterFrames {
  readonly #limits: ExporterLimits;
  readonly #series = new Map<string, KnownSeries | null>();
  /** By the batch's own columns: scrapes of a target share them while its series stay the same. Undefined where none is of a GPU. */
  readonly #columns = new WeakMap<Uint32Array, readonly (KnownSeries | null)[] | undefined>();
  readonly #targets = new Map<string, Target>();
  /** GPUs beyond the limit of their target, since the start. */
  ignoredGpus = 0;

  constructor(limits: Partial<ExporterLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  frames(batch: SampleBatch): readonly ExporterFrame[] {
    const known = this.#knownOf(batch);
    if (known === undefined) return [];
    const words = wordsOf(batch);
    const instants = new Map<Target, Map<number, Map<string, ListedReading>>>();
    for (let at = 0; at < batch.sampleCount; at++) {
      const found = known[batch.sampleSeries[at] as number];
      if (found === undefined || found === null) continue;
      const target = this.#target(found.series);
      if (!this.#learn(target, found.series)) continue;
      const reading = readingOf(found.series, batch.values[at] as number, isStale(words, at));
      let times = instants.get(target);
      if (times === undefined)
        instants.set(target, (times = new Map<number, Map<string, ListedReading>>()));
      const timeMs = batch.times[at] as number;
      let readings = times.get(timeMs);
      if (readings === undefined) times.set(timeMs, (readings = new Map<string, ListedReading>()));
      if (reading !== undefined && !readings.has(found.key)) readings.set(found.key, reading);
    }
    return [...instants].flatMap(([target, times]) =>
      [...times]
        .sort(([left], [right]) => left - right)
        .flatMap(([timeMs, readings]) => frameOf(target, timeMs, [...readings.values()])),
    );
  }

  #knownOf(batch: SampleBatch): readonly (KnownSeries | null)[] | undefined {
    const columns = batch.labelStarts;
    if (this.#columns.has(columns)) return this.#columns.get(columns);
    const text = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
    const series = Array.from({ length: batch.seriesCount }, (_, at) =>
      this.#seriesAt(batch, at, text),
    );
    const known = withoutCopies(series);
    const found = known.every((one) => one === null) ? undefined : known;
    this.#columns.set(columns, found);
    return found;
  }

  #target({ exporter, origin, host }: TranslatedSeries): Target {
    const key = [exporter, origin.job, origin.instance, host].join("\u0000");
    let target = this.#targets.get(key);
    if (target === undefined) {
      target = {
        exporter,
        origin,
        host,
        devices: new Map(),
        owners: new Map(),
        frames: new ReadingFrames(),
      };
      this.#targets.set(key, target);
    }
    return target;
  }

  /** False for a GPU that is one too many. What a later series adds to its description stays. */
  #learn({ devices, owners }: Target, { device, owner }: TranslatedSeries): boolean {
    const before = devices.get(device.uuid);
    if (before === undefined) {
      if (devices.size >= this.#limits.gpusPerTarget) {
        this.ignoredGpus++;
        return false;
      }
      devices.set(device.uuid, device);
    } else if (before !== device && isBetter(device, before))
      devices.set(device.uuid, merged(before, device));
    owners.set(device.uuid, owner ?? owners.get(device.uuid));
    return true;
  }

  #seriesAt(batch: SampleBatch, series: number, text: Buffer): KnownSeries | null {
    const [start, end] = [batch.labelStarts[series] ?? 0, batch.labelEnds[series] ?? 0];
    const block = text.toString("latin1", start, end);
    const known = this.#series.get(block);
    if (known !== undefined) return known;
    if (this.#series.size >= this.#limits.series) {
      this.#series.clear();
      this.#targets.clear();
    }
    const translated = translateBlock(batch.bytes, start, end);
    const made = translated === undefined ? null : { series: translated, key: keyOf(translated) };
    this.#series.set(block, made);
    return made;
  }
}

/** An agent with `--compat` reports a GPU under several names: ours are exact, the others are copies. */
function withoutCopies(series: readonly (KnownSeries | null)[]): readonly (KnownSeries | null)[] {
  const own = new Set<string>();
  for (const one of series)
    if (one?.series.exporter === ownExporter) own.add(one.series.device.uuid.toLowerCase());
  if (own.size === 0) return series;
  return series.map((one) =>
    one !== null &&
    one.series.exporter !== ownExporter &&
    own.has(one.series.device.uuid.toLowerCase())
      ? null
      : one,
  );
}

function translateBlock(
  bytes: Uint8Array,
  start: number,
  end: number,
): TranslatedSeries | undefined {
  let labels: Record<string, string>;
  try {
    labels = Object.fromEntries(readLabelBlock(bytes, start, end));
  } catch {
    // The intake reports bad labels.
    return undefined;
  }
  const { __name__: name, ...rest } = labels;
  return name === undefined ? undefined : translateSeries(name, rest);
}

const keyOf = ({ reading, device }: TranslatedSeries): string =>
  reading === undefined
    ? `info ${device.uuid}`
    : seriesKey({ metric: reading.metric, suffix: "", labels: reading.labels });

function readingOf(
  { reading }: TranslatedSeries,
  raw: number,
  isEnded: boolean,
): ListedReading | undefined {
  if (reading === undefined) return undefined;
  const { metric, labels, read, zeroIsAbsent } = reading;
  if (isEnded) return { metric, labels, value: "ended" };
  const value = read === undefined ? raw : read(raw);
  if (value === undefined || (raw === 0 && zeroIsAbsent))
    return { metric, labels, value: "unsupported" };
  return { metric, labels, value };
}

/** With what follows for each GPU: that it is up, its description, its owner, its memory in all. */
function frameOf(
  target: Target,
  timeMs: number,
  own: readonly ListedReading[],
): readonly ExporterFrame[] {
  if (own.length === 0) return [];
  const isOwn = target.exporter === ownExporter;
  const readings = isOwn ? own : [...own, ...impliedReadings(target, own)];
  const { exporter, origin, host, frames } = target;
  const devices = [...target.devices.values()];
  return [{ exporter, origin, host, frame: frames.frame(timeMs, readings), devices, isOwn }];
}

function impliedReadings(
  { devices, owners, host }: Target,
  readings: readonly ListedReading[],
): ListedReading[] {
  const byDevice = new Map<string, Map<MetricEntry, number>>();
  for (const { metric, labels, value } of readings) {
    if (typeof value !== "number") continue;
    const uuid = labels.find(([name]) => name === "uuid")?.[1] ?? "";
    let values = byDevice.get(uuid);
    if (values === undefined) byDevice.set(uuid, (values = new Map<MetricEntry, number>()));
    if (!values.has(metric)) values.set(metric, value);
  }
  const implied: ListedReading[] = [];
  const add = (metric: MetricEntry, labels: LabelSet, value: number): void =>
    void implied.push({ metric, labels, value });
  for (const [uuid, values] of byDevice) {
    const device = devices.get(uuid);
    if (device === undefined) continue;
    add(gpu.up, deviceLabels(device, host), 1);
    add(gpu.info, deviceInfoLabels(device, host), 1);
    const owner = owners.get(uuid);
    if (owner !== undefined)
      add(
        gpu.ownerInfo,
        labelSet({ ...Object.fromEntries(deviceLabels(device, host)), ...owner }),
        1,
      );
    const [used, free] = [values.get(gpu.memoryUsed), values.get(gpu.memoryFree)];
    if (!values.has(gpu.memoryTotal) && used !== undefined && free !== undefined)
      add(
        gpu.memoryTotal,
        deviceLabels(device, host),
        used + free + (values.get(gpu.memoryReserved) ?? 0),
      );
  }
  return implied;
}

const describing = ["model", "driver", "vbios", "pciBusId"] as const;

const isKnown = (value: string | undefined): boolean => value !== undefined && value !== "unknown";

const isBetter = (next: Device, before: Device): boolean =>
  describing.some((field) => isKnown(next[field]) && next[field] !== before[field]) ||
  (before.vendor === "unknown" && next.vendor !== "unknown") ||
  (next.simulated && !before.simulated);

function merged(before: Device, next: Device): Device {
  const fields = describing.filter((field) => isKnown(next[field]));
  return {
    ...before,
    simulated: before.simulated || next.simulated,
    parent: next.parent ?? before.parent,
    ...(next.vendor === "unknown" ? {} : { vendor: next.vendor }),
    ...(fields.includes("model") ? { index: next.index } : {}),
    ...Object.fromEntries(fields.map((field) => [field, next[field]])),
  };
}
