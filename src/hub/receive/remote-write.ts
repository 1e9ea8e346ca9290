/**
 * Remote write 1.0 and 2.0: snappy, protobuf, one commit to the history, then the response. 204: all stored; 400: some
 * samples are invalid, the others are stored; 429 and 5xx: retry.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { SnappyError, snappyLength } from "../../formats/snappy/decompress.ts";
import type { Log } from "../../base/log.ts";
import type { AdmissionHold } from "./admission.ts";
import { maxBodyBytes } from "./body.ts";
import { malformed, tooLarge, unsupported } from "./failure.ts";
import type { Intake, IngestResult } from "./intake.ts";
import { isAtSeriesLimit, seriesLimitRetrySeconds, formatRejected } from "./rejected-samples.ts";
import { addDirectReceiver, addReceiver } from "./receiver.ts";

const writePath = "/api/v1/write";

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
  const outcomes = addDirectReceiver(app, {
    path: writePath,
    // Version 1.0, as Prometheus, Grafana Alloy, vmagent and OpenTelemetry's exporter send it.
    contentType: "application/x-protobuf",
    intake,
    work: ({ headers }, body, hold) => {
      requireSnappy(headers);
      return take(intake, "1.0", body, hold);
    },
    respond: (written) => (formatProblem(written) === undefined ? "no content" : undefined),
  });
  await addReceiver(app, {
    receiver: "remote_write",
    isRead: (request) => outcomes.has(request),
    intake,
    log,
    sendError: ({ message }, request, reply) => {
      // Nothing of a refused request is stored; a 2.0 client expects the counters.
      if (versionOf(request) === "2.0") writtenHeaders(reply, nothingWritten);
      return sentence(reply, message);
    },
    routes: (scope, bodies) => {
      scope.post(writePath, async (request, reply) => {
        const version = versionOf(request);
        if (version === undefined)
          throw unsupported(
            `content type ${request.headers["content-type"]} is not supported: send application/x-protobuf with proto=prometheus.WriteRequest or io.prometheus.write.v2.Request`,
          );
        requireSnappy(request.headers);
        const outcome = outcomes.get(request.raw);
        const written =
          outcome === undefined
            ? await take(intake, version, bodies.packed(request), bodies.holdOf(request))
            : outcome();
        const { stored } = written;
        if (version === "2.0") writtenHeaders(reply, stored);
        const message = formatProblem(written);
        if (message === undefined) return reply.code(204).send();
        if (isAtSeriesLimit(stored)) reply.header("retry-after", seriesLimitRetrySeconds);
        return sentence(reply.code(isAtSeriesLimit(stored) ? 429 : 400), message);
      });
    },
  });
}

interface Written {
  readonly stored: IngestResult;
  readonly problem: string | undefined;
}

/** Undefined if all samples are stored. */
const formatProblem = ({ stored, problem }: Written): string | undefined =>
  formatRejected(stored.samples, {
    ...stored.refused,
    badProblem: problem ?? stored.refused.badProblem,
  });

function requireSnappy({ "content-encoding": encoding = "snappy" }: IncomingHttpHeaders): void {
  if (encoding !== "snappy")
    throw unsupported(`content encoding ${encoding} is not supported: send snappy`);
}

async function take(
  intake: Intake,
  version: Version,
  packed: Buffer,
  hold: AdmissionHold,
): Promise<Written> {
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
