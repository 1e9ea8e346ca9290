/**
 * Caches which of our series each label block is. Series that do not belong to a GPU are cached too. Everything is bounded: GPUs,
 * targets or series beyond a limit are ignored and counted, or the cache is cleared.
 */
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { seriesKey } from "../../model/layout.ts";
import type { SampleBatch } from "../samples/batch.ts";
import { hashWords, LabelHasher } from "../samples/label-hash.ts";
import { readLabelBlock } from "../samples/labels.ts";
import { ExporterTarget, type TargetGpu } from "./targets.ts";
import { translateSeries, type TranslatedSeries } from "./translate.ts";

export interface ExporterLimits {
  /** Number of cached series, including those that do not belong to a GPU. */
  readonly series: number;
  /** GPUs of one exporter on one target; further ones are ignored and counted. */
  readonly gpusPerTarget: number;
  /** GPUs of all targets. */
  readonly gpus: number;
}

/** Per batch: new series beyond a limit are not even translated after this many, so that no request blocks the hub. */
const maxRefusedInBatch = 4_096;

const defaultLimits: ExporterLimits = { series: 500_000, gpusPerTarget: 1_024, gpus: 100_000 };

/** The origin of samples: `job` and `instance`. Samples of one origin and instant belong together. */
export interface SampleOrigin {
  readonly targets: Map<string, ExporterTarget>;
  /** uuids of the GPUs that the origin reports under our own names. */
  readonly ownGpus: Set<string>;
}

/** One of our series, the same object for all label blocks that map to it, with the last reading of it in an instant. */
export interface OwnSeries {
  instant: unknown;
  target: ExporterTarget | undefined;
  /** Index in the target's readings of that instant. */
  place: number;
  isNumber: boolean;
}

export class KnownSeries {
  readonly origin: SampleOrigin;
  readonly target: ExporterTarget;
  /** Absent for one of our own host series. */
  readonly gpu: TargetGpu | undefined;
  readonly owner: TranslatedSeries["owner"];
  readonly reading: TranslatedSeries["reading"];
  readonly #own: Map<string, OwnSeries>;
  #labels: LabelSet;
  #series: OwnSeries;
  #index: number | undefined;

  /** @param own all our series by their key */
  constructor(
    origin: SampleOrigin,
    target: ExporterTarget,
    gpu: TargetGpu | undefined,
    { device, owner, reading }: TranslatedSeries,
    own: Map<string, OwnSeries>,
  ) {
    this.origin = origin;
    this.target = target;
    this.gpu = gpu;
    this.owner = owner;
    this.reading = reading;
    this.#index = device?.index;
    this.#labels = reading?.labels ?? [];
    this.#own = own;
    this.#series = this.#findSeries();
  }

  /** Includes the GPU's index, which another series may have reported later. */
  get labels(): LabelSet {
    this.#update();
    return this.#labels;
  }

  get series(): OwnSeries {
    this.#update();
    return this.#series;
  }

  /** True if series with our own names describe the GPU. */
  get isDescribed(): boolean {
    const { origin, gpu } = this;
    return gpu !== undefined && origin.ownGpus.has(gpu.device.uuid);
  }

  #update(): void {
    const index = this.gpu?.device.index;
    if (index === this.#index || this.target.isOwn) return;
    this.#index = index;
    this.#labels = labelSet({ ...Object.fromEntries(this.#labels), gpu: String(index) });
    this.#series = this.#findSeries();
  }

  #findSeries(): OwnSeries {
    const { reading } = this;
    const key =
      reading === undefined
        ? ""
        : seriesKey({
            metric: reading.metric,
            suffix: reading.suffix ?? "",
            labels: this.#labels,
          });
    let series = this.#own.get(key);
    if (series === undefined) {
      series = { instant: undefined, target: undefined, place: 0, isNumber: false };
      this.#own.set(key, series);
    }
    return series;
  }
}

interface CachedSeries {
  readonly key: number;
  readonly check1: number;
  readonly check2: number;
  readonly known: KnownSeries | null;
  /** The next entry with the same first hash word. */
  readonly next: CachedSeries | undefined;
  /** The series that was looked up after this one: senders repeat their order, and a lookup in the map takes twice as long. */
  following: CachedSeries | undefined;
}

export class SeriesCache {
  readonly #limits: ExporterLimits;
  /** Keyed by 30 bits of the label block's hash, which a map stores without allocating; the other words are compared. */
  readonly #series = new Map<number, CachedSeries>();
  readonly #own = new Map<string, OwnSeries>();
  readonly #hasher = new LabelHasher();
  readonly #hash = new Uint32Array(hashWords);
  readonly #origins = new Map<string, SampleOrigin>();
  /**
   * Keyed by the batch's own columns: scrapes of a target share them while its series stay the same. Undefined if no series belongs
   * to a GPU.
   */
  #columns = new WeakMap<Uint32Array, readonly (KnownSeries | null)[] | undefined>();
  #cached = 0;
  #gpus = 0;
  #last: CachedSeries | undefined;
  #batch: Uint32Array | undefined;
  #refusedInBatch = 0;
  /** Series of GPUs ignored because of a limit, since the start. */
  ignoredSeries = 0;

  constructor(limits: Partial<ExporterLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits };
  }

  /** By index in the batch; undefined if no series belongs to a GPU. */
  all(batch: SampleBatch): readonly (KnownSeries | null)[] | undefined {
    const columns = batch.labelStarts;
    if (this.#columns.has(columns)) return this.#columns.get(columns);
    const known = Array.from({ length: batch.seriesCount }, (_, at) => this.at(batch, at));
    const found = known.every((one) => one === null) ? undefined : known;
    this.#columns.set(columns, found);
    return found;
  }

  /** Null for a series that does not belong to a GPU, or exceeds a limit. */
  at(batch: SampleBatch, series: number): KnownSeries | null {
    const { bytes, labelStarts, labelEnds, labelHashes } = batch;
    const [start, end] = [labelStarts[series] as number, labelEnds[series] as number];
    const [words, from] =
      labelHashes === undefined ? [this.#hash, 0] : [labelHashes, series * hashWords];
    if (labelHashes === undefined) this.#hasher.hash(bytes, start, end, this.#hash, 0);
    const key = (words[from] as number) >>> 2;
    const [check1, check2] = [words[from + 1] as number, words[from + 2] as number];
    const expected = this.#last?.following;
    if (expected?.key === key && expected.check1 === check1 && expected.check2 === check2)
      return this.#lookedUp(expected);
    for (let cached = this.#series.get(key); cached !== undefined; cached = cached.next)
      if (cached.check1 === check1 && cached.check2 === check2) return this.#lookedUp(cached);
    if (this.#batch !== labelStarts) [this.#batch, this.#refusedInBatch] = [labelStarts, 0];
    if (this.#refusedInBatch >= maxRefusedInBatch) {
      this.ignoredSeries++;
      return null;
    }
    if (++this.#cached > this.#limits.series) this.#clear();
    const translated = translateBlock(bytes, start, end);
    const known = translated === undefined ? null : this.#admit(translated);
    const cached = {
      key,
      check1,
      check2,
      known,
      next: this.#series.get(key),
      following: undefined,
    };
    this.#series.set(key, cached);
    return this.#lookedUp(cached);
  }

  #lookedUp(cached: CachedSeries): KnownSeries | null {
    if (this.#last !== undefined && this.#last.following !== cached) this.#last.following = cached;
    this.#last = cached;
    return cached.known;
  }

  #admit(translated: TranslatedSeries): KnownSeries | null {
    const { exporter, origin, host, device } = translated;
    const originKey = `${origin.job ?? ""}\u0000${origin.instance ?? ""}`;
    const of: SampleOrigin = this.#origins.get(originKey) ?? {
      targets: new Map(),
      ownGpus: new Set(),
    };
    const key = `${exporter}\u0000${host}`;
    const target = of.targets.get(key) ?? new ExporterTarget(translated);
    if (device !== undefined && target.gpu(device.uuid) === undefined) {
      const { gpusPerTarget, gpus } = this.#limits;
      if (target.gpuCount >= gpusPerTarget || this.#gpus >= gpus) {
        this.ignoredSeries++;
        this.#refusedInBatch++;
        return null;
      }
      this.#gpus++;
    }
    this.#origins.set(originKey, of);
    of.targets.set(key, target);
    if (device !== undefined && target.isOwn) of.ownGpus.add(device.uuid);
    return new KnownSeries(of, target, device && target.learn(device), translated, this.#own);
  }

  #clear(): void {
    this.#last = undefined;
    this.#series.clear();
    this.#own.clear();
    this.#cached = 0;
    this.#origins.clear();
    this.#columns = new WeakMap();
    this.#gpus = 0;
  }
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
    // The ingestion path reports invalid labels.
    return undefined;
  }
  const { __name__: name, ...rest } = labels;
  return name === undefined ? undefined : translateSeries(name, rest);
}
