/** Sends batches as gzipped OTLP requests; counts the rejected samples of a partial success. */
import { promisify } from "node:util";
import zlib from "node:zlib";
import { encodeOtlpJson, readPartialSuccess } from "../../formats/otlp/encode/json.ts";
import { exportOf } from "../../formats/otlp/encode/model.ts";
import { encodeOtlp } from "../../formats/otlp/encode/protobuf.ts";
import type { Families } from "../families.ts";
import type { Post } from "../request-batch.ts";
import { SamplesPoster, type SamplesPosterOptions } from "../post.ts";
import type { Sender } from "../samples-sink.ts";
import type { HardwareNames } from "./hardware.ts";

const gzip = promisify(zlib.gzip);
const contentTypes = { protobuf: "application/x-protobuf", json: "application/json" } as const;

export class OtlpSender implements Sender {
  readonly #poster: SamplesPoster;
  readonly #version: string;
  readonly #encoding: "protobuf" | "json";
  readonly #names: HardwareNames | undefined;

  /** @param names replaces our metric names; absent to keep them */
  constructor(options: SamplesPosterOptions, encoding: "protobuf" | "json", names?: HardwareNames) {
    this.#poster = new SamplesPoster(options);
    this.#version = options.version;
    this.#encoding = encoding;
    this.#names = names;
  }

  post(families: Families): Post {
    return async (batch, signal) => {
      const own = exportOf(batch, (name) => families.find(name));
      const resources = this.#names?.rename(own) ?? own;
      const isJson = this.#encoding === "json";
      const body = isJson
        ? encodeOtlpJson(resources, this.#version)
        : encodeOtlp(resources, this.#version);
      const headers = {
        "content-type": contentTypes[this.#encoding],
        "content-encoding": "gzip",
      };
      const answer = await this.#poster.post(await gzip(body), headers, signal);
      if ("outcome" in answer) return answer;
      const result = this.#poster.meaning(answer);
      if (result.outcome !== "sent") return result;
      const { rejected, message } = readPartialSuccess(answer.body, isJson);
      return rejected === 0
        ? result
        : {
            outcome: "sent",
            refusedSamples: Math.min(rejected, batch.sampleCount),
            problem: message,
          };
    };
  }

  close(): void {
    this.#poster.close();
  }
}
