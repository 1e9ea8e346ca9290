/** Receives remote write 1.0 and 2.0; the content type determines the version. */
import type http from "node:http";
import { ProtoError } from "../../formats/protobuf/reader.ts";
import { decodeWriteRequestV2 } from "../../formats/remote-write/decode-v2.ts";
import { decodeWriteRequest } from "../../formats/remote-write/decode.ts";
import { BatchTooLargeError } from "../../formats/samples/labels.ts";
import { decompressSnappy, SnappyError } from "../../formats/snappy/decompress.ts";
import type { Log } from "../../base/log.ts";
import {
  type ListeningOptions,
  ListeningSource,
  type ReceivedBatch,
  RequestRejectedError,
} from "../listening.ts";

type Address = Pick<ListeningOptions, "host" | "port" | "token" | "maxBodyBytes" | "maxHeldBytes">;

export function openRemoteWriteListener(
  name: string,
  address: Address,
  log: Log,
): Promise<ListeningSource> {
  return ListeningSource.open({
    ...address,
    name,
    log,
    paths: ["/api/v1/write", "/"],
    understand: (body, headers) => understand(body, headers, address.maxBodyBytes),
  });
}

function understand(
  packed: Buffer,
  headers: http.IncomingHttpHeaders,
  maxBytes: number,
): ReceivedBatch {
  const type = headers["content-type"] ?? "application/x-protobuf";
  const proto = /;\s*proto="?([\w.]+)/i.exec(type)?.[1] ?? "prometheus.WriteRequest";
  const isSecond = proto === "io.prometheus.write.v2.Request";
  const isKnown = isSecond || proto === "prometheus.WriteRequest";
  if (!/^application\/x-protobuf\b/i.test(type) || !isKnown)
    throw new RequestRejectedError(
      415,
      "send application/x-protobuf with proto=prometheus.WriteRequest or io.prometheus.write.v2.Request",
    );
  if ((headers["content-encoding"] ?? "snappy") !== "snappy")
    throw new RequestRejectedError(415, "send it with content encoding snappy");
  try {
    const bytes = decompressSnappy(packed, maxBytes);
    const batch = isSecond ? decodeWriteRequestV2(bytes).batch : decodeWriteRequest(bytes);
    const written = {
      "x-prometheus-remote-write-samples-written": String(batch.sampleCount),
      "x-prometheus-remote-write-histograms-written": "0",
      "x-prometheus-remote-write-exemplars-written": "0",
    };
    return { batch, answer: { status: 204, ...(isSecond && { headers: written }) } };
  } catch (thrown) {
    if (thrown instanceof BatchTooLargeError) throw new RequestRejectedError(413, thrown.message);
    if (thrown instanceof ProtoError || thrown instanceof SnappyError)
      throw new RequestRejectedError(400, `not a valid write request: ${thrown.message}`);
    throw thrown;
  }
}
