/** The samples of one origin at one instant, and the frames built from them: one per exporter and host. */
import type { ListedReading } from "../../model/reading-frames.ts";
import { otel } from "./any-vendor.ts";
import { exporterTables } from "./list.ts";
import type { KnownSeries, OwnSeries } from "./series-cache.ts";
import type { ExporterFrame, ExporterTarget, GpuInstant, TargetGpu } from "./targets.ts";

/**
 * If two exporters on one target report a GPU, the one with the lower rank is read: an agent with `--compat` exposes its own names
 * too. OpenTelemetry's names have the rank of our own: they are used instead of them, never beside them.
 */
const ranks: ReadonlyMap<string, number> = new Map(
  exporterTables.map((table, at) => [table.name, table === otel ? 0 : at + 1] as const),
);
const rankOf = ({ exporter }: ExporterTarget): number => ranks.get(exporter) ?? 0;

interface TargetInstant {
  isReplaced: boolean;
  readonly readings: ListedReading[];
  readonly gpus: Map<TargetGpu, GpuInstant>;
}

export class ExporterInstant {
  readonly timeMs: number;
  readonly #live: KnownSeries[] = [];
  readonly #values: number[] = [];
  readonly #ended: KnownSeries[] = [];

  constructor(timeMs: number) {
    this.timeMs = timeMs;
  }

  /** Number of samples, duplicates included. */
  get size(): number {
    return this.#live.length + this.#ended.length;
  }

  add(series: KnownSeries, value: number, isEnded: boolean): void {
    if (isEnded) this.#ended.push(series);
    else {
      this.#live.push(series);
      this.#values.push(value);
    }
  }

  frames(): readonly ExporterFrame[] {
    const readers = this.#readers();
    const targets = new Map<ExporterTarget, TargetInstant>();
    this.#live.forEach((series, at) => {
      const { target, gpu, owner } = series;
      if (gpu !== undefined && readers !== undefined && !isReader(readers, target, gpu)) return;
      const found = instantOf(targets, target);
      const about = gpu && gpuOf(found, gpu);
      if (about !== undefined && !target.isOwn) {
        // An info series has the value 1 if the GPU is present.
        about.isLive ||= series.reading === undefined && this.#values[at] !== 0;
        about.owner ??= owner;
        about.isDescribed ||= series.isDescribed;
      }
      const own = series.series;
      const isSeen = own.instant === this;
      if (isSeen && own.isNumber) return;
      if (about !== undefined && series.reading?.isLastXid === true) {
        about.lastXid ??= this.#values[at];
        return;
      }
      const reading = readingOf(series, this.#values[at] as number);
      if (reading === undefined) return;
      const isNumber = typeof reading.value === "number";
      // A reading may have two names: the card may have one, and the exporter writes 0 for the other.
      if (!isSeen) {
        remember(own, this, target, found, isNumber);
        found.readings.push(reading);
      } else if (isNumber && own.target === target) {
        found.readings[own.place] = reading;
        own.isNumber = true;
      } else return;
      if (target.isOwn) return;
      if (about === undefined || typeof reading.value !== "number") return;
      // Exporters and their libraries cache limits and sizes of a GPU that no longer responds.
      about.isLive ||= reading.metric.tier !== "static";
      if (!about.values.has(reading.metric)) about.values.set(reading.metric, reading.value);
    });
    for (const { target, gpu, series, reading, labels } of this.#ended) {
      if (reading === undefined || reading.isLastXid === true) continue;
      const found = instantOf(targets, target);
      const isSeen = series.instant === this;
      if (isSeen && series.target !== target) found.isReplaced = true;
      if (isSeen) continue;
      remember(series, this, target, found, false);
      if (gpu !== undefined) gpuOf(found, gpu);
      const { metric, suffix } = reading;
      found.readings.push({ metric, labels, suffix, value: "ended" });
    }
    return [...targets].flatMap(([target, { readings, gpus, isReplaced }]) =>
      readings.length === 0 && !isReplaced && ![...gpus.values()].some(hasXid)
        ? []
        : [
            target.frame(
              this.timeMs,
              readings,
              gpus,
              isReplaced,
              (gpu) => (readers?.get(uuidOf(gpu)) ?? rankOf(target)) !== rankOf(target),
            ),
          ],
    );
  }

  /** The exporter from which each GPU is read, by uuid; undefined if there is only one exporter. */
  #readers(): ReadonlyMap<string, number> | undefined {
    const targets = new Set<ExporterTarget>();
    for (const { target } of this.#live) targets.add(target);
    if (new Set([...targets].map(rankOf)).size < 2) return undefined;
    const readers = new Map<string, number>();
    for (const { target, gpu } of this.#live) {
      if (gpu === undefined) continue;
      const [uuid, rank] = [uuidOf(gpu), rankOf(target)];
      if (rank < (readers.get(uuid) ?? Infinity)) readers.set(uuid, rank);
    }
    return readers;
  }
}

const hasXid = ({ lastXid }: GpuInstant): boolean => lastXid !== undefined;

const uuidOf = ({ device }: TargetGpu): string => device.uuid.toLowerCase();

/** Instances are read from the same exporter as their GPU. */
const isReader = (
  readers: ReadonlyMap<string, number>,
  target: ExporterTarget,
  gpu: TargetGpu,
): boolean =>
  [uuidOf(gpu), gpu.device.parent?.toLowerCase()].every(
    (uuid) => uuid === undefined || (readers.get(uuid) ?? Infinity) >= rankOf(target),
  );

function remember(
  series: OwnSeries,
  instant: ExporterInstant,
  target: ExporterTarget,
  { readings }: TargetInstant,
  isNumber: boolean,
): void {
  series.instant = instant;
  series.target = target;
  series.place = readings.length;
  series.isNumber = isNumber;
}

function instantOf(
  targets: Map<ExporterTarget, TargetInstant>,
  target: ExporterTarget,
): TargetInstant {
  let found = targets.get(target);
  if (found === undefined) {
    found = { isReplaced: false, readings: [], gpus: new Map() };
    targets.set(target, found);
  }
  return found;
}

function gpuOf({ gpus }: TargetInstant, gpu: TargetGpu): GpuInstant {
  let found = gpus.get(gpu);
  if (found === undefined) {
    found = {
      isLive: false,
      owner: undefined,
      isDescribed: false,
      lastXid: undefined,
      values: new Map(),
    };
    gpus.set(gpu, found);
  }
  return found;
}

function readingOf({ reading, labels }: KnownSeries, raw: number): ListedReading | undefined {
  if (reading === undefined) return undefined;
  const { metric, suffix, read, zeroIsAbsent } = reading;
  if (raw === 0 && zeroIsAbsent) return { metric, labels, suffix, value: "exporter reports 0" };
  const value = read === undefined ? raw : read(raw);
  return {
    metric,
    labels,
    suffix,
    value: isMissing(raw) ? "unsupported" : (value ?? "unsupported"),
  };
}

/** NaN means a missing sensor, for example in nvitop-exporter; DCGM's blank values are the four numbers from 2^63 - 16. */
const isMissing = (raw: number): boolean => Number.isNaN(raw) || raw === 2 ** 63;
