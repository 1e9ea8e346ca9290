/** Remote-write 1.0 in: snappy, protobuf, one commit to the log, then the acknowledgement. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { decodeWriteRequest } from "../../formats/remote-write/decode.ts";
import { ProtoError } from "../../formats/protobuf/reader.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { decompressSnappy, SnappyError } from "../../formats/snappy/decompress.ts";
import { StoreError } from "../../store/error.ts";
import type { AppendResult } from "../../store/options.ts";
import type { Received } from "../own-frame.ts";
import type { ApiContext } from "../api/context.ts";

const maxCompressedBytes = 32 * 1024 * 1024;
const maxBytes = 128 * 1024 * 1024;
const retryAfterSeconds = 5;

export function addWrite(
  app: FastifyInstance,
  { history, metadata, received, log }: ApiContext,
): void {
  app.addContentTypeParser(
    "application/x-protobuf",
    { parseAs: "buffer", bodyLimit: maxCompressedBytes },
    (_request, body, done) => done(null, body),
  );
  app.post("/api/v1/write", { bodyLimit: maxCompressedBytes }, async (request, reply) => {
    const version = request.headers["content-type"] ?? "";
    if (/proto=io\.prometheus\.write\.v2/.test(version))
      return refuse(reply, 415, "remote-write 2.0 is not taken here yet: send 1.0");
    const encoding = request.headers["content-encoding"] ?? "snappy";
    if (encoding !== "snappy")
      return refuse(reply, 415, `content encoding ${encoding} is not taken: send snappy`);
    if (!Buffer.isBuffer(request.body))
      return refuse(reply, 400, "the body is empty: send a snappy-compressed WriteRequest");
    try {
      const batch = decodeWriteRequest(decompressSnappy(request.body, maxBytes));
      const result = await history.write(batch);
      metadata.learn(batch.metadata);
      countReceived(received, batch, result);
      return answer(reply, result);
    } catch (thrown) {
      if (thrown instanceof ProtoError || thrown instanceof SnappyError) {
        received.malformed_request++;
        return refuse(reply, 400, `not a valid write request: ${thrown.message}`);
      }
      if (!(thrown instanceof StoreError)) throw thrown;
      log.warn("a write was refused", { trouble: thrown.message });
      return refuse(
        reply.header("retry-after", retryAfterSeconds),
        thrown.retryable ? 503 : 500,
        thrown.message,
      );
    }
  });
}

/** Kinds that are not kept are counted as dropped, while the floats of the same request are kept. */
function countReceived(received: Received, batch: SampleBatch, result: AppendResult): void {
  received.stored += result.stored;
  received.duplicate += result.duplicates;
  received.conflict += result.refusedConflicts;
  received.too_old += result.refusedTooOld;
  received.limit += result.refusedByLimit;
  received.exemplar += batch.droppedExemplars;
  received.native_histogram += batch.droppedHistograms;
}

/** What was refused for good is told with 400, so that the sender drops it instead of sending it for ever; the rest is kept. */
function answer(reply: FastifyReply, result: AppendResult): FastifyReply {
  const refused = result.refusedConflicts + result.refusedTooOld + result.refusedByLimit;
  if (refused === 0) return reply.code(204).send();
  const parts = [
    [result.refusedConflicts, "have another value than is stored for their time"],
    [result.refusedTooOld, "are older than retention or no valid time"],
    [result.refusedByLimit, "would need more series than are allowed"],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, why]) => `${count} ${why}`);
  return refuse(
    reply,
    400,
    `${result.stored + result.duplicates} samples are kept, ${refused} refused: ${told.join(", ")}`,
  );
}

const refuse = (reply: FastifyReply, status: number, sentence: string): FastifyReply =>
  reply.code(status).type("text/plain; charset=utf-8").send(`${sentence}\n`);
