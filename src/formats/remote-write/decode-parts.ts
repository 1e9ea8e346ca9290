/** What remote-write 1.0 and 2.0 have in common on the wire: `Sample { double value = 1; int64 timestamp = 2; }` and the types of metrics. */
import type { ProtoReader } from "../protobuf/reader.ts";

export const metricTypes = [
  "unknown",
  "counter",
  "gauge",
  "histogram",
  "gaugehistogram",
  "summary",
  "info",
  "stateset",
];

/** A plain sample: tag 12, a value, and a time that takes six bytes (1971 to 2109). What nearly every sample is. */
export const plainSampleBytes = 18;
const valueTag = 0x09;
const timeTag = 0x10;

export function isPlainSample(bytes: Uint8Array, at: number, end: number): boolean {
  return (
    at + plainSampleBytes <= end &&
    bytes[at + 1] === plainSampleBytes - 2 &&
    bytes[at + 2] === valueTag &&
    bytes[at + 11] === timeTag &&
    ((bytes[at + 12] as number) &
      (bytes[at + 13] as number) &
      (bytes[at + 14] as number) &
      (bytes[at + 15] as number) &
      (bytes[at + 16] as number)) >=
      0x80 &&
    (bytes[at + 17] as number) < 0x80
  );
}

export function plainTimeMs(bytes: Uint8Array, at: number): number {
  const low =
    ((bytes[at] as number) & 0x7f) |
    (((bytes[at + 1] as number) & 0x7f) << 7) |
    (((bytes[at + 2] as number) & 0x7f) << 14);
  const high =
    ((bytes[at + 3] as number) & 0x7f) |
    (((bytes[at + 4] as number) & 0x7f) << 7) |
    ((bytes[at + 5] as number) << 14);
  return high * 0x20_0000 + low;
}

/** Any sample; `valueAt` is below 0 where the value was left out, which means 0. */
export function readSample(reader: ProtoReader): { timeMs: number; valueAt: number } {
  let valueAt = -1;
  let timeMs = 0;
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 1) valueAt = reader.fixed64();
    else if (reader.field === 2 && reader.wireType === 0) timeMs = reader.int64();
    else reader.skip();
  }
  return { timeMs, valueAt };
}
