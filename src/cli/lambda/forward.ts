/**
 * Forwards rows to a hub by remote write, one batch after the other. If the hub is unavailable the upload fails, and S3 sends
 * the event again.
 */
import { GpulseError } from "../../base/error.ts";
import { encodeWriteRequest } from "../../formats/remote-write/encode.ts";
import { type SampleBatch, joinBatches } from "../../formats/samples/batch.ts";
import { FrameSamples } from "../../formats/samples/from-frame.ts";
import { compressSnappy } from "../../formats/snappy/compress.ts";
import { HttpAgent, request } from "../../net/http/request.ts";
import type { Secret } from "../../net/http/secret.ts";
import type { Delivery } from "../../pipeline/sink.ts";

const samplesAtOnce = 20_000;

export class HubForward {
  readonly #url: string;
  readonly #token: Secret | undefined;
  readonly #version: string;
  readonly #agent = new HttpAgent();
  readonly #samples = new FrameSamples();
  #waiting: SampleBatch[] = [];
  #count = 0;

  constructor({ url, token }: { url: URL; token: Secret | undefined }, version: string) {
    this.#url = new URL("api/v1/write", url.href.endsWith("/") ? url : `${url.href}/`).href;
    this.#token = token;
    this.#version = version;
  }

  async take({ frame, source, tier }: Delivery, signal: AbortSignal): Promise<void> {
    const { batch } = this.#samples.take({ frame, source, tier }, []);
    this.#waiting.push(batch);
    this.#count += batch.sampleCount;
    if (this.#count >= samplesAtOnce) await this.flush(signal);
  }

  async flush(signal: AbortSignal): Promise<void> {
    if (this.#count === 0) return;
    const body = compressSnappy(encodeWriteRequest(joinBatches(this.#waiting)));
    const { status } = await request(this.#url, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/x-protobuf",
        "content-encoding": "snappy",
        "x-prometheus-remote-write-version": "0.1.0",
        "user-agent": `gpulse/${this.#version}`,
        ...(this.#token !== undefined && { authorization: `Bearer ${this.#token.reveal()}` }),
      },
      timeoutMs: 30_000,
      maxBytes: 65_536,
      signal,
      agent: this.#agent,
    });
    if (status >= 300)
      throw new GpulseError(
        status === 401 || status === 403 ? "ACCESS_REFUSED" : "AGENT_UNREACHABLE",
        `The hub at GPULSE_HUB answers ${status}: give it a GPULSE_TOKEN that may write, and check the address.`,
      );
    this.#waiting = [];
    this.#count = 0;
  }

  close(): void {
    this.#agent.close();
  }
}
