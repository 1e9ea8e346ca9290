/** Decodes a label block (a series' encoded labels) to a label set, validated as Prometheus validates it. */
import type { Label, LabelSet } from "../../model/labels.ts";
import { ProtoError, ProtoReader } from "../protobuf/reader.ts";
import type { Series } from "../../model/layout.ts";

export interface LabelLimits {
  readonly labels: number;
  readonly nameBytes: number;
  readonly valueBytes: number;
}

export const defaultLabelLimits: LabelLimits = {
  labels: 128,
  nameBytes: 1_024,
  valueBytes: 16_384,
};

/** @throws ProtoError with the problem: no metric name, a duplicate name, too many or too long labels. */
export function readLabelBlock(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits = defaultLabelLimits,
): LabelSet {
  const labels: Label[] = [];
  /** True if names are sorted, unique and not empty, as nearly every sender sends them. */
  let isOrdered = true;
  let hasName = false;
  for (let at = start; at < end;) {
    let label = knownLabels.find(bytes, at, end);
    if (label !== undefined) at += 2 + (bytes[at + 1] as number);
    else {
      const reader = new ProtoReader(bytes, at, end);
      reader.next();
      if (reader.field !== 1 || reader.wireType !== 2) reader.skip();
      else label = readLabel(reader.message(), limits);
      if (label !== undefined) knownLabels.put(bytes, at, reader.position, label);
      at = reader.position;
    }
    if (label === undefined) continue;
    if (label[1] === "" || (labels.length > 0 && !((labels.at(-1)?.[0] ?? "") < label[0])))
      isOrdered = false;
    if (label[0] === "__name__" && label[1] !== "") hasName = true;
    labels.push(label);
    if (labels.length > limits.labels)
      throw new ProtoError(`a series has more than ${limits.labels} labels`);
  }
  const kept = isOrdered ? labels : sortLabels(labels);
  if (!hasName) throw new ProtoError("a series has no metric name");
  return kept;
}

function sortLabels(labels: readonly Label[]): readonly Label[] {
  const kept = labels
    .filter(([, value]) => value !== "")
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  kept.forEach(([name], index) => {
    if (index > 0 && kept[index - 1]?.[0] === name)
      throw new ProtoError(`label "${name}" occurs twice`);
  });
  return kept;
}

/**
 * Caches recently decoded labels by their bytes. New series mostly have the labels of others: reusing one string, whose hash is
 * known, costs a fifth of decoding it again.
 */
class LabelCache {
  readonly #bytes: (Uint8Array | undefined)[];
  readonly #labels: Label[];
  readonly #mask: number;

  /** @param places number of slots, a power of two */
  constructor(places: number) {
    this.#bytes = Array.from({ length: places }, () => undefined);
    this.#labels = Array.from({ length: places }, () => ["", ""] as const);
    this.#mask = places - 1;
  }

  /** The label whose field begins at `at`, if it has fewer than 128 bytes and is cached. */
  find(bytes: Uint8Array, at: number, end: number): Label | undefined {
    const length = bytes[at + 1] as number;
    if (bytes[at] !== labelTag || length >= maxCachedBytes || at + 2 + length > end)
      return undefined;
    const place = this.#place(bytes, at + 2, at + 2 + length);
    const known = this.#bytes[place];
    if (known === undefined || known.length !== length) return undefined;
    for (let i = 0; i < length; i++) if (known[i] !== bytes[at + 2 + i]) return undefined;
    return this.#labels[place];
  }

  /** Caches a valid label. */
  put(bytes: Uint8Array, at: number, end: number, label: Label): void {
    const length = bytes[at + 1] as number;
    if (bytes[at] !== labelTag || length >= maxCachedBytes || at + 2 + length !== end) return;
    const place = this.#place(bytes, at + 2, end);
    this.#bytes[place] = bytes.slice(at + 2, end);
    this.#labels[place] = label;
  }

  #place(bytes: Uint8Array, from: number, to: number): number {
    let hash = to - from;
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
    return (hash ^ (hash >>> 15)) & this.#mask;
  }
}

const labelTag = 0x0a;
const maxCachedBytes = 128;
const knownLabels = new LabelCache(4_096);

export function readLabel(reader: ProtoReader, limits = defaultLabelLimits): Label {
  let name = "";
  let value = "";
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 2) name = reader.text();
    else if (reader.field === 2 && reader.wireType === 2) value = reader.text();
    else reader.skip();
  }
  if (name === "") throw new ProtoError("a label has no name");
  if (name.length > limits.nameBytes)
    throw new ProtoError(`a label name is longer than ${limits.nameBytes} bytes`);
  if (value.length > limits.valueBytes)
    throw new ProtoError(`the value of label "${name}" is longer than ${limits.valueBytes} bytes`);
  return [name, value];
}

/* The labels under which a series of a frame is stored or sent. */

/** Includes the name, sorted; the series' own labels override the extra ones. */
export function storedLabels({ metric, suffix, labels }: Series, extra: LabelSet): LabelSet {
  const all = new Map<string, string>(extra.filter(([, value]) => value !== ""));
  for (const [name, value] of labels) all.set(name, value);
  all.set("__name__", `${metric.name}${suffix}`);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}

/* The limits of one received batch: decoders stop there, before they allocate more memory. */

/** A sender with more series must send several requests; Prometheus sends 2,000 samples at a time. */
export const maxBatchSeries = 250_000;

/** More samples than fit in 32 MiB, except for empty ones, which take two bytes each. */
export const maxBatchSamples = 2 ** 21;
/** Encoded labels of all series: a label sent once for all entries of a request is stored with each of them. */
export const maxBatchLabelBytes = 32 * 2 ** 20;
/** The same as the number of families that are cached. */
export const maxBatchMetadata = 50_000;
/** The limit of invalid parts that are reported one by one; with more, the request has another format. */
export const maxBadParts = 10_000;

export class BatchTooLargeError extends Error {
  constructor(what = `${maxBatchSeries} series`) {
    super(`the request has more than ${what}: send fewer at a time`);
  }
}
