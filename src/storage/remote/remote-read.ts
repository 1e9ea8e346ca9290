/**
 * Prometheus remote read: raw samples of a time range, bit for bit, including staleness markers.
 *
 *   PushRequest  { repeated Query queries = 1; }
 *   Query        { int64 start_timestamp_ms = 1; int64 end_timestamp_ms = 2; repeated LabelMatcher matchers = 3; }
 *   LabelMatcher { Type type = 1 (EQ, NEQ, RE, NRE); string name = 2; string value = 3; }
 *   ReadResponse { repeated QueryResult results = 1; }   QueryResult { repeated TimeSeries timeseries = 1; }
 *
 * A QueryResult has the shape of a WriteRequest, so it is decoded as one.
 */
import { ProtoReader } from "../../formats/protobuf/reader.ts";
import { decodeWriteRequest } from "../../formats/remote-write/decode.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import type { Matcher } from "../../model/select.ts";

const matcherTypes = ["=", "!=", "=~", "!~"];

export function encodeReadRequest(
  matchers: readonly Matcher[],
  fromMs: number,
  toMs: number,
): Buffer {
  const query = Buffer.concat([
    number(1, fromMs),
    number(2, toMs),
    ...matchers.map(({ name, op, value }) =>
      message(
        3,
        Buffer.concat([
          number(1, matcherTypes.indexOf(op)),
          message(2, Buffer.from(name)),
          message(3, Buffer.from(value)),
        ]),
      ),
    ),
  ]);
  return message(1, query);
}

/** @throws ProtoError if the bytes are not a ReadResponse. */
export function decodeReadResponse(bytes: Uint8Array): SampleBatch {
  const reader = new ProtoReader(bytes, 0, bytes.length);
  while (reader.next()) {
    if (reader.field !== 1 || reader.wireType !== 2) {
      reader.skip();
      continue;
    }
    const end = reader.payloadEnd();
    return decodeWriteRequest(bytes.subarray(reader.position, end));
  }
  return decodeWriteRequest(new Uint8Array(0));
}

function message(field: number, payload: Uint8Array): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(payload.length), payload]);
}

/** Encodes a varint field. A field with the value 0 may be left out. */
const number = (field: number, value: number): Buffer =>
  Buffer.concat([varint(field << 3), varint(value)]);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...bytes, rest]);
}
