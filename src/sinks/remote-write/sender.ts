/** Batches as remote-write 1.0 or 2.0 requests. Falls back to 1.0 for a receiver that does not support 2.0. */
import { encodeWriteRequest } from "../../formats/remote-write/encode.ts";
import { encodeWriteRequestV2 } from "../../formats/remote-write/encode-v2.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { compressSnappy } from "../../formats/snappy/compress.ts";
import type { HttpResponse } from "../../net/http/request.ts";
import type { Log } from "../../base/log.ts";
import type { Families } from "../families.ts";
import type { SendResult } from "../../base/send/batch-sender.ts";
import type { Post } from "../request-batch.ts";
import { SamplesPoster, type SamplesPosterOptions } from "../post.ts";
import type { Sender } from "../samples-sink.ts";

const headersOf = {
  "1": {
    "content-encoding": "snappy",
    "content-type": "application/x-protobuf",
    "x-prometheus-remote-write-version": "0.1.0",
  },
  "2": {
    "content-encoding": "snappy",
    "content-type": "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    "x-prometheus-remote-write-version": "2.0.0",
  },
} as const;

export class RemoteWriteSender implements Sender {
  readonly #poster: SamplesPoster;
  readonly #options: SamplesPosterOptions;
  readonly #log: Log;
  #version: "1" | "2";

  constructor(options: SamplesPosterOptions, version: "1" | "2", log: Log) {
    this.#options = options;
    this.#poster = new SamplesPoster(options);
    this.#version = version;
    this.#log = log;
  }

  post(families: Families): Post {
    return async (batch, signal) => {
      const first = await this.#send(batch, families, signal);
      if (first !== "unknown version") return first;
      const second = await this.#send(batch, families, signal);
      if (second === "unknown version") throw new Error("BUG: remote-write 1.0 has no fallback");
      return second;
    };
  }

  close(): void {
    this.#poster.close();
  }

  async #send(
    batch: SampleBatch,
    families: Families,
    signal: AbortSignal,
  ): Promise<SendResult | "unknown version"> {
    const version = this.#version;
    const metadata = version === "1" ? families.due(this.#options.nowMs()) : [];
    const body =
      version === "1"
        ? encodeWriteRequest({ ...batch, metadata })
        : encodeWriteRequestV2(batch, (name) => families.find(name));
    const answer = await this.#poster.post(compressSnappy(body), headersOf[version], signal);
    if ("outcome" in answer) {
      families.unsent(metadata);
      return answer;
    }
    if (version === "2" && answer.status === 415) {
      this.#log.warn("receiver does not support remote-write 2.0, sending 1.0", {
        to: answer.url,
      });
      this.#version = "1";
      return "unknown version";
    }
    const result = this.#poster.meaning(answer);
    if (result.outcome !== "sent") families.unsent(metadata);
    return version === "2" ? counted(result, answer, batch.sampleCount) : result;
  }
}

/** Returns NaN if the receiver does not report the count. */
const countIn = ({ headers }: HttpResponse, kind: "samples" | "histograms"): number =>
  Number(headers[`x-prometheus-remote-write-${kind}-written`] ?? "NaN");

/**
 * A 2.0 receiver reports how many samples it wrote: if it wrote a part of the request, the rest is rejected and not
 * retried.
 */
function counted(result: SendResult, answer: HttpResponse, samples: number): SendResult {
  const written = countIn(answer, "samples") + (countIn(answer, "histograms") || 0);
  if (
    !Number.isInteger(written) ||
    written <= 0 ||
    result.outcome !== "refused" ||
    result.isTooLarge === true
  )
    return result;
  const refusedSamples = Math.max(0, samples - written);
  return { outcome: "sent", refusedSamples, problem: result.problem };
}
