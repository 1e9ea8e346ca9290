/** Decodes request bodies to sample batches, one decoder per receiver. Runs on the hub's thread or on a decode worker. */
import {
  type DecodedLines,
  LineDecoder,
  type LineOptions,
  TooManyBadLinesError,
} from "../../../formats/influx/decode.ts";
import {
  type OtlpBatch,
  otlpBatch,
  type OtlpBatchOptions,
} from "../../../formats/otlp/decode/batch.ts";
import { OtlpCache } from "../../../formats/otlp/decode/cache.ts";
import { decodeOtlpJson } from "../../../formats/otlp/decode/json.ts";
import { OtlpError } from "../../../formats/otlp/decode/model.ts";
import { decodeOtlp } from "../../../formats/otlp/decode/protobuf.ts";
import { ProtoError } from "../../../formats/protobuf/reader.ts";
import { type DecodedPush, decodePush } from "../../../formats/push/decode.ts";
import {
  type DecodeV2Options,
  decodeWriteRequestV2,
} from "../../../formats/remote-write/decode-v2.ts";
import { decodeWriteRequest } from "../../../formats/remote-write/decode.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import { BatchTooLargeError, maxBatchSeries } from "../../../formats/samples/labels.ts";
import { decompressSnappy, SnappyError } from "../../../formats/snappy/decompress.ts";
import { maxBodyBytes } from "../body.ts";
import { malformed } from "../failure.ts";
import { countOpenings } from "../../limits/json-size.ts";

export interface DecodeKinds {
  readonly json: { readonly options: { readonly nowMs: number }; readonly result: DecodedPush };
  readonly influx: { readonly options: LineOptions; readonly result: DecodedLines };
  readonly otlp: {
    readonly options: OtlpBatchOptions & { readonly json: boolean };
    readonly result: OtlpBatch;
  };
  /** The body is still compressed. */
  readonly remote_write: {
    readonly options: DecodeV2Options & { readonly version: "1.0" | "2.0" };
    readonly result: { readonly batch: SampleBatch; readonly problem: string | undefined };
  };
}
export type DecodeKind = keyof DecodeKinds;

/** An entry of `/push` is an object that contains its labels in another. */
const maxPushOpenings = 2 * maxBatchSeries + 1_000;
/** Each attribute of an OTLP point takes two, and there are points without attributes. */
const maxOtlpOpenings = 8 * maxBatchSeries;

type Decode<Kind extends DecodeKind> = (
  body: Buffer,
  options: DecodeKinds[Kind]["options"],
  room: Uint8Array | undefined,
) => DecodeKinds[Kind]["result"];

export class Decoders {
  readonly #lines = new LineDecoder();
  readonly #otlpCache = new OtlpCache();
  readonly #byKind: { readonly [Kind in DecodeKind]: Decode<Kind> } = {
    json: (body, { nowMs }) =>
      explained("the body is not valid JSON", () =>
        decodePush(jsonText(body, maxPushOpenings), nowMs),
      ),
    influx: (body, options) => explained("", () => this.#lines.decode(body, options)),
    otlp: (body, options) =>
      explained("not a valid metrics request", () => this.#otlp(body, options)),
    remote_write: (body, options, room) =>
      explained("not a valid write request", () => {
        const bytes = decompressSnappy(body, maxBodyBytes, room);
        return options.version === "2.0"
          ? decodeWriteRequestV2(bytes, options)
          : { batch: decodeWriteRequest(bytes, options.bucketLimit), problem: undefined };
      }),
  };

  /**
   * @param room buffer for the decompressed body, if it fits
   * @throws ReceiveError or BatchTooLargeError if the body cannot be accepted.
   */
  decode<Kind extends DecodeKind>(
    kind: Kind,
    body: Buffer,
    options: DecodeKinds[Kind]["options"],
    room?: Uint8Array,
  ): DecodeKinds[Kind]["result"] {
    return this.#byKind[kind](body, options, room);
  }

  #otlp(body: Buffer, options: DecodeKinds["otlp"]["options"]): OtlpBatch {
    const cache = this.#otlpCache;
    cache.makeRoom();
    // Attributes read from JSON are new objects each time: a shared cache would never hit.
    return options.json
      ? otlpBatch(decodeOtlpJson(jsonText(body, maxOtlpOpenings)), new OtlpCache(), options)
      : otlpBatch(decodeOtlp(body, cache), cache, options);
  }
}

function jsonText(body: Buffer, maxOpenings: number): string {
  if (countOpenings(body, maxOpenings) > maxOpenings)
    throw new BatchTooLargeError(`${maxOpenings} objects and lists`);
  return body.toString("utf8");
}

function explained<Result>(what: string, decode: () => Result): Result {
  try {
    return decode();
  } catch (thrown) {
    if (thrown instanceof TooManyBadLinesError) throw malformed(thrown.message);
    if (
      thrown instanceof ProtoError ||
      thrown instanceof OtlpError ||
      thrown instanceof SnappyError ||
      thrown instanceof SyntaxError
    )
      throw malformed(`${what}: ${thrown.message}`);
    throw thrown;
  }
}
