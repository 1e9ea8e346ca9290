/** A label block (a series' encoded labels) as a label set, checked as Prometheus checks it. */
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

/** @throws ProtoError with what is wrong: no metric name, a name twice, too many or too long. */
export function readLabelBlock(
  bytes: Uint8Array,
  start: number,
  end: number,
  limits = defaultLabelLimits,
): LabelSet {
  const labels: Label[] = [];
  const reader = new ProtoReader(bytes, start, end);
  while (reader.next()) {
    if (reader.field !== 1 || reader.wireType !== 2) reader.skip();
    else labels.push(readLabel(reader.message(), limits));
    if (labels.length > limits.labels)
      throw new ProtoError(`a series has more than ${limits.labels} labels`);
  }
  const kept = labels
    .filter(([, value]) => value !== "")
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  kept.forEach(([name], index) => {
    if (index > 0 && kept[index - 1]?.[0] === name)
      throw new ProtoError(`label "${name}" stands twice`);
  });
  if (!kept.some(([name]) => name === "__name__"))
    throw new ProtoError("a series has no metric name");
  return kept;
}

function readLabel(reader: ProtoReader, limits: LabelLimits): Label {
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

/* The labels under which a series of a frame is kept or sent. */

/** With its name, sorted; what the series says itself wins over what is added. */
export function storedLabels({ metric, suffix, labels }: Series, extra: LabelSet): LabelSet {
  const all = new Map<string, string>(extra.filter(([, value]) => value !== ""));
  for (const [name, value] of labels) all.set(name, value);
  all.set("__name__", `${metric.name}${suffix}`);
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}

/* The limits of one received batch: decoders stop there, before they allocate more memory. */

/** A sender that has more series sends them in parts; Prometheus sends 2,000 samples at a time. */
export const maxBatchSeries = 250_000;

/** More than 32 MiB hold of samples that say something; those that say nothing take two bytes each. */
export const maxBatchSamples = 2 ** 21;
/** Labels of all series, encoded: a label stated once for all entries of a request is stored with each of them. */
export const maxBatchLabelBytes = 32 * 2 ** 20;
/** As many families as are remembered. */
export const maxBatchMetadata = 50_000;
/** The limit of invalid parts that are reported one by one; with more, the request has another format. */
export const maxBadParts = 10_000;

export class BatchTooLargeError extends Error {
  constructor(what = `${maxBatchSeries} series`) {
    super(`the request has more than ${what}: send fewer at a time`);
  }
}
