/** Receives OTLP metrics as protobuf or JSON. Parts of a request that cannot be stored are reported as a partial success. */
import type http from "node:http";
import { partialSuccess, statusMessage } from "../../formats/otlp/decode/response.ts";
import { otlpBatch } from "../../formats/otlp/decode/batch.ts";
import { OtlpCache } from "../../formats/otlp/decode/cache.ts";
import { DeltaTotals, describeRefusedDeltas } from "../../formats/otlp/decode/delta.ts";
import { decodeOtlpJson } from "../../formats/otlp/decode/json.ts";
import { OtlpError } from "../../formats/otlp/decode/model.ts";
import { decodeOtlp } from "../../formats/otlp/decode/protobuf.ts";
import { ProtoError } from "../../formats/protobuf/reader.ts";
import { countRefused } from "../../formats/samples/batch.ts";
import { BatchTooLargeError } from "../../formats/samples/labels.ts";
import type { Log } from "../../base/log.ts";
import {
  type HttpReply,
  type ListeningOptions,
  ListeningSource,
  type ReceivedBatch,
  RequestRejectedError,
} from "../listening.ts";

type Address = Pick<ListeningOptions, "host" | "port" | "token" | "maxBodyBytes" | "maxHeldBytes">;

/** google.rpc.Code */
const codes = { invalidArgument: 3, unauthenticated: 16, unavailable: 14 } as const;

export function openOtlpListener(
  name: string,
  address: Address,
  log: Log,
): Promise<ListeningSource> {
  const cache = new OtlpCache();
  const totals = new DeltaTotals();
  return ListeningSource.open({
    ...address,
    name,
    log,
    paths: ["/v1/metrics"],
    understand: (body, headers) => understand(body, isJson(headers), cache, totals),
    refusal,
  });
}

function understand(
  body: Buffer,
  json: boolean,
  cache: OtlpCache,
  totals: DeltaTotals,
): ReceivedBatch {
  try {
    cache.makeRoom();
    const decoded = json
      ? otlpBatch(decodeOtlpJson(body.toString("utf8")))
      : otlpBatch(decodeOtlp(body, cache), cache);
    const total = totals.accumulate(decoded.batch, decoded.deltaSeries, performance.now());
    const { batch, outOfOrder, overLimit } = total;
    const rejected =
      decoded.unspecified +
      decoded.malformed +
      outOfOrder +
      overLimit +
      countRefused(batch.refusedHistograms);
    const histograms = batch.refusedHistograms[0]?.problem;
    const reported = [decoded.problem, describeRefusedDeltas(total), histograms]
      .filter((part) => part !== undefined)
      .join("; ");
    const answer: HttpReply = {
      status: 200,
      type: json ? "application/json" : "application/x-protobuf",
      body: partialSuccess(rejected, reported, json),
    };
    return { batch, answer };
  } catch (thrown) {
    if (thrown instanceof BatchTooLargeError) throw new RequestRejectedError(413, thrown.message);
    const isBad =
      thrown instanceof ProtoError || thrown instanceof OtlpError || thrown instanceof SyntaxError;
    if (isBad)
      throw new RequestRejectedError(400, `not a valid metrics request: ${thrown.message}`);
    throw thrown;
  }
}

function isJson(headers: http.IncomingHttpHeaders): boolean {
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type === "application/json") return true;
  if (type === "application/x-protobuf" || type === "application/protobuf") return false;
  throw new RequestRejectedError(415, "send application/x-protobuf or application/json");
}

function refusal(status: number, sentence: string, headers: http.IncomingHttpHeaders): HttpReply {
  const json = (headers["content-type"] ?? "").startsWith("application/json");
  const code =
    status === 503
      ? codes.unavailable
      : status === 401
        ? codes.unauthenticated
        : codes.invalidArgument;
  return {
    status,
    type: json ? "application/json" : "application/x-protobuf",
    body: statusMessage(code, sentence, json),
  };
}
