/**
 * Sends lines to Loki's push API: POST /loki/api/v1/push, response 204.
 *
 *   {"streams":[{"stream":{"job":"gpulse-kernel","vendor":"nvidia",…},"values":[["TIME in ns","line",{"xid":"79"}],…]}]}
 *
 * Each distinct label set is a stream, so there are few labels: the GPU and the error are structured metadata.
 * Timestamps within a stream are in ascending order.
 */
import { SamplesPoster, type SamplesPosterOptions } from "../post.ts";
import type { SendResult } from "../../base/send/batch-sender.ts";
import { detailsOf, type KernelLine, type LineTarget } from "./line.ts";

export interface LokiOptions extends SamplesPosterOptions {
  readonly shown: string;
  readonly job: string;
  /** Additional labels of every stream. */
  readonly labels: Readonly<Record<string, string>>;
  readonly structuredMetadata: boolean;
}

type Value = readonly [timeNs: string, line: string, metadata?: Readonly<Record<string, string>>];

function pushBody(
  lines: readonly KernelLine[],
  { job, labels, structuredMetadata }: Omit<LokiOptions, keyof SamplesPosterOptions | "shown">,
): string {
  const streams = new Map<string, { stream: Record<string, string>; values: Value[] }>();
  const inOrder = lines.toSorted((left, right) => Number(left.timeNs - right.timeNs));
  for (const line of inOrder) {
    const { host, vendor, level } = line;
    const key = JSON.stringify([host, vendor, level]);
    let stream = streams.get(key);
    if (stream === undefined) {
      stream = { stream: { ...labels, job, host, vendor, level }, values: [] };
      streams.set(key, stream);
    }
    const timeNs = String(line.timeNs);
    stream.values.push(
      structuredMetadata ? [timeNs, line.text, detailsOf(line)] : [timeNs, line.text],
    );
  }
  return JSON.stringify({ streams: [...streams.values()] });
}

export class LokiTarget implements LineTarget {
  readonly shown: string;
  readonly #options: LokiOptions;
  readonly #poster: SamplesPoster;

  constructor(options: LokiOptions) {
    this.#options = options;
    this.shown = options.shown;
    this.#poster = new SamplesPoster(options);
  }

  async send(lines: readonly KernelLine[], signal: AbortSignal): Promise<SendResult> {
    const body = Buffer.from(pushBody(lines, this.#options));
    const answer = await this.#poster.post(body, { "content-type": "application/json" }, signal);
    return "outcome" in answer ? answer : this.#poster.meaning(answer);
  }

  close(): void {
    this.#poster.close();
  }
}
