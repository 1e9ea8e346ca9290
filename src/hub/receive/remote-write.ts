/**
 * Remote-write 1.0 and 2.0 in: snappy, protobuf, one commit to the history, then the acknowledgement. 204 is kept, 400 will
 * never be taken (the rest of the request is kept), 429 and 5xx may come again.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SnappyError, snappyLength } from "../../formats/snappy/decompress.ts";
import type { Log } from "../../base/log.ts";
import type { AdmissionHold } from "./admission.ts";
import { maxBodyBytes } from "./body.ts";
import { malformed, tooLarge, unsupported } from "./failure.ts";
import type { Intake, IngestResult } from "./intake.ts";
import { isAtSeriesLimit, seriesLimitRetrySeconds, formatRejected } from "./rejected-samples.ts";
import { addReceiver } from "./receiver.ts";

type Version = "1.0" | "2.0";

const versions = new Map<string, Version>([
  ["prometheus.WriteRequest", "1.0"],
  ["io.prometheus.write.v2.Request", "2.0"],
]);

export async function addRemoteWrite(
  app: FastifyInstance,
  intake: Intake,
  log: Log,
): Promise<void> {
  await addReceiver(app, {
    way: "remote_write",
    intake,
    log,
    tell: ({ message }, request, reply) => {
      // Nothing of a refused request is kept, and a 2.0 sender is told so.
      if (versionOf(request) === "2.0") writtenHeaders(reply, 0);
      return sentence(reply, message);
    },
    routes: (scope, bodies) => {
      scope.post("/api/v1/write", async (request, reply) => {
        const version = versionOf(request);
        if (version === undefined)
          throw unsupported(
            `content type ${request.headers["content-type"]} is not taken: send application/x-protobuf with proto=prometheus.WriteRequest or io.prometheus.write.v2.Request`,
          );
        const encoding = request.headers["content-encoding"] ?? "snappy";
        if (encoding !== "snappy")
          throw unsupported(`content encoding ${encoding} is not taken: send snappy`);
        const { kept, problem } = await take(
          intake,
          version,
          bodies.packed(request),
          bodies.holdOf(request),
        );
        if (version === "2.0") writtenHeaders(reply, kept.samples);
        const told = formatRejected(kept.samples, {
          ...kept.refused,
          ...(problem === undefined ? {} : { badTrouble: problem }),
        });
        if (told === undefined) return reply.code(204).send();
        if (isAtSeriesLimit(kept)) reply.header("retry-after", seriesLimitRetrySeconds);
        return sentence(reply.code(isAtSeriesLimit(kept) ? 429 : 400), told);
      });
    },
  });
}

async function take(
  intake: Intake,
  version: Version,
  packed: Buffer,
  hold: AdmissionHold,
): Promise<{ kept: IngestResult; problem: string | undefined }> {
  if (packed.length === 0)
    throw malformed("the body is empty: send a snappy-compressed write request");
  const length = lengthOf(packed);
  if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
  hold.take(length);
  const { batch, problem } = await intake.decoder.decode(
    "remote_write",
    packed,
    { version },
    hold,
    length,
  );
  return { kept: await intake.keep("remote_write", batch, hold.client), problem };
}

function lengthOf(packed: Buffer): number {
  try {
    return snappyLength(packed, Infinity).length;
  } catch (thrown) {
    if (!(thrown instanceof SnappyError)) throw thrown;
    throw malformed(`not a valid write request: ${thrown.message}`);
  }
}

/** Without a `proto` it is 1.0, as it is without a content type at all. */
function versionOf(request: FastifyRequest): Version | undefined {
  const [type = "", ...parameters] = (
    request.headers["content-type"] ?? "application/x-protobuf"
  ).split(";");
  if (type.trim().toLowerCase() !== "application/x-protobuf") return undefined;
  for (const parameter of parameters) {
    const [name = "", value = ""] = parameter.trim().split("=");
    if (name.toLowerCase() === "proto") return versions.get(value.replace(/^"(.*)"$/, "$1"));
  }
  return "1.0";
}

/** What is in the history now: exemplars and native histograms never are. */
function writtenHeaders(reply: FastifyReply, samples: number): void {
  reply
    .header("x-prometheus-remote-write-samples-written", samples)
    .header("x-prometheus-remote-write-histograms-written", 0)
    .header("x-prometheus-remote-write-exemplars-written", 0);
}

const sentence = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type("text/plain; charset=utf-8").send(`${text}\n`);
