/**
 * Remote write 1.0 and 2.0: snappy, protobuf, one commit to the history, then the response. 204: all stored; 400: some
 * samples are invalid, the others are stored; 429 and 5xx: retry.
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
    receiver: "remote_write",
    intake,
    log,
    sendError: ({ message }, request, reply) => {
      // Nothing of a refused request is stored; a 2.0 client expects the counters.
      if (versionOf(request) === "2.0") writtenHeaders(reply, nothingWritten);
      return sentence(reply, message);
    },
    routes: (scope, bodies) => {
      scope.post("/api/v1/write", async (request, reply) => {
        const version = versionOf(request);
        if (version === undefined)
          throw unsupported(
            `content type ${request.headers["content-type"]} is not supported: send application/x-protobuf with proto=prometheus.WriteRequest or io.prometheus.write.v2.Request`,
          );
        const encoding = request.headers["content-encoding"] ?? "snappy";
        if (encoding !== "snappy")
          throw unsupported(`content encoding ${encoding} is not supported: send snappy`);
        const { stored, problem } = await take(
          intake,
          version,
          bodies.packed(request),
          bodies.holdOf(request),
        );
        if (version === "2.0") writtenHeaders(reply, stored);
        const message = formatRejected(stored.samples, {
          ...stored.refused,
          badProblem: problem ?? stored.refused.badProblem,
        });
        if (message === undefined) return reply.code(204).send();
        if (isAtSeriesLimit(stored)) reply.header("retry-after", seriesLimitRetrySeconds);
        return sentence(reply.code(isAtSeriesLimit(stored) ? 429 : 400), message);
      });
    },
  });
}

async function take(
  intake: Intake,
  version: Version,
  packed: Buffer,
  hold: AdmissionHold,
): Promise<{ stored: IngestResult; problem: string | undefined }> {
  if (packed.length === 0)
    throw malformed("the body is empty: send a snappy-compressed write request");
  const length = lengthOf(packed);
  if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
  hold.take(length);
  return intake.decoder.decode(
    "remote_write",
    packed,
    { ...intake.ingest, version },
    hold,
    async ({ batch, problem }) => ({
      stored: await intake.store("remote_write", batch, hold.client),
      problem,
    }),
    length,
  );
}

function lengthOf(packed: Buffer): number {
  try {
    return snappyLength(packed, Infinity).length;
  } catch (thrown) {
    if (!(thrown instanceof SnappyError)) throw thrown;
    throw malformed(`not a valid write request: ${thrown.message}`);
  }
}

/** Without a `proto` parameter, or without a content type, the version is 1.0. */
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

const nothingWritten = { samples: 0, histograms: 0, exemplars: 0 };

function writtenHeaders(
  reply: FastifyReply,
  { samples, histograms, exemplars }: Omit<IngestResult, "refused">,
): void {
  reply
    .header("x-prometheus-remote-write-samples-written", samples - histograms)
    .header("x-prometheus-remote-write-histograms-written", histograms)
    .header("x-prometheus-remote-write-exemplars-written", exemplars);
}

const sentence = (reply: FastifyReply, text: string): FastifyReply =>
  reply.type("text/plain; charset=utf-8").send(`${text}\n`);
