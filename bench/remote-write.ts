/**
 * Remote-write 1.0 requests for tests and benchmarks: label blocks are encoded once, samples are appended to them. Not used by
 * gpulse itself.
 */
import { Agent, request } from "node:http";
import { compress } from "snappyjs";
import type { LabelSet } from "../src/model/labels.ts";

/** The `labels` fields of a series' TimeSeries message, encoded. */
function labelBlock(labels: LabelSet): Buffer {
  const parts = labels.map(([name, value]) => {
    const inner = Buffer.concat([field(0x0a, name), field(0x12, value)]);
    return Buffer.concat([Buffer.from([0x0a, ...varint(inner.length)]), inner]);
  });
  return Buffer.concat(parts);
}

function field(tag: number, text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([tag, ...varint(bytes.length)]), bytes]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}

/** Times from 1971 to 2109 take six bytes as a varint, so a sample has a fixed length: 2 + 9 + 1 + 6. */
const sampleBytes = 18;
const firstTimeMs = 2 ** 35;
const endTimeMs = 2 ** 42;

export class WriteRequests {
  readonly #blocks: readonly Buffer[];
  #buffer = Buffer.alloc(1 << 20);

  constructor(series: readonly LabelSet[]) {
    this.#blocks = series.map(labelBlock);
  }

  /** Encodes a request with the samples of the series from `from` to before `to`, each at all of these instants. */
  encode(
    from: number,
    to: number,
    timesMs: readonly number[],
    valueOf: (series: number, step: number) => number,
  ): Buffer {
    let at = 0;
    for (let series = from; series < to; series++) {
      const block = this.#blocks[series];
      if (block === undefined) throw new Error(`BUG: there is no series ${series}`);
      const length = block.length + timesMs.length * sampleBytes;
      this.#reserve(at + length + 10);
      const buffer = this.#buffer;
      buffer[at++] = 0x0a;
      for (const byte of varint(length)) buffer[at++] = byte;
      at += block.copy(buffer, at);
      for (const [step, timeMs] of timesMs.entries())
        at = putSample(buffer, at, timeMs, valueOf(series, step));
    }
    return Buffer.from(compress(this.#buffer.subarray(0, at)));
  }

  #reserve(bytes: number): void {
    if (this.#buffer.length >= bytes) return;
    const larger = Buffer.alloc(bytes * 2);
    this.#buffer.copy(larger);
    this.#buffer = larger;
  }
}

function putSample(buffer: Buffer, at: number, timeMs: number, value: number): number {
  if (!(timeMs >= firstTimeMs && timeMs < endTimeMs))
    throw new Error(`BUG: ${timeMs} does not take six bytes`);
  buffer[at] = 0x12;
  buffer[at + 1] = sampleBytes - 2;
  buffer[at + 2] = 0x09;
  buffer.writeDoubleLE(value, at + 3);
  buffer[at + 11] = 0x10;
  let rest = timeMs;
  for (let i = 12; i < 17; i++) {
    buffer[at + i] = (rest % 128) + 128;
    rest = Math.floor(rest / 128);
  }
  buffer[at + 17] = rest;
  return at + sampleBytes;
}

export interface WriteResponse {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
}

const silenceMs = 30_000;

/** Sends bodies over persistent connections. */
export class WriteClient {
  readonly #url: URL;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(url: string) {
    this.#url = new URL("/api/v1/write", url);
  }

  /** Rejects if there is no response. */
  send(body: Buffer): Promise<WriteResponse> {
    return new Promise((resolve, reject) => {
      const sending = request(this.#url, {
        agent: this.#agent,
        method: "POST",
        headers: {
          "content-type": "application/x-protobuf",
          "content-encoding": "snappy",
          "x-prometheus-remote-write-version": "0.1.0",
          "content-length": body.length,
        },
      });
      sending.on("error", reject);
      sending.setTimeout(silenceMs, () => sending.destroy(new Error("no answer came")));
      sending.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("error", reject);
        response.on("close", () => {
          const status = response.statusCode ?? 0;
          if (response.complete)
            resolve({ status, text, retryAfter: response.headers["retry-after"] });
          else reject(new Error("the answer was cut off"));
        });
      });
      sending.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
