/** A label block (a series' encoded labels) as a label set, checked as Prometheus checks it. */
import type { Label, LabelSet } from "../../model/labels.ts";
import { ProtoError, ProtoReader } from "../protobuf/reader.ts";

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
