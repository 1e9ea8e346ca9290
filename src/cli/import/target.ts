/** The target of an import: a running hub by remote write, or a data folder that no hub has open. */
import { pause } from "../../base/retry.ts";
import type { ClientAccess } from "../command/client.ts";
import { GpulseError } from "../../base/error.ts";
import { encodeWriteRequest } from "../../formats/remote-write/encode.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { compressSnappy } from "../../formats/snappy/compress.ts";
import type { History, SampleWriter } from "../../storage/history.ts";
import { HttpAgent, HttpRequestError, request } from "../../net/http/request.ts";

export interface ImportWriteResult {
  readonly kept: number;
  readonly refused: number;
  /** The reason the receiver gave. */
  readonly reason?: string;
}

export interface ImportTarget {
  readonly place: string;
  write(batch: SampleBatch, signal: AbortSignal): Promise<ImportWriteResult>;
  close(): Promise<void>;
}

const timeoutMs = 60_000;
/** How long to wait for a hub that is busy or restarting. */
const patienceMs = 120_000;

export class HubTarget implements ImportTarget {
  readonly place: string;
  readonly #url: string;
  readonly #access: ClientAccess;
  readonly #agent: HttpAgent;

  constructor(url: URL, access: ClientAccess) {
    this.place = url.origin;
    this.#url = new URL("/api/v1/write", url).href;
    this.#access = access;
    this.#agent = new HttpAgent(access.ca === undefined ? {} : { ca: access.ca });
  }

  async write(batch: SampleBatch, signal: AbortSignal): Promise<ImportWriteResult> {
    const body = compressSnappy(encodeWriteRequest(batch));
    let waitedMs = 0;
    for (let waitMs = 500; ; waitMs = Math.min(waitMs * 2, 10_000)) {
      const answer = await this.#send(body, signal);
      if (answer.status < 300) return { kept: batch.sampleCount, refused: 0 };
      if (answer.status === 400) return partly(answer.words, batch.sampleCount);
      if (answer.status === 401 || answer.status === 403)
        throw new GpulseError(
          "ACCESS_REFUSED",
          `The hub refused: ${answer.words} Give a token with --token file:PATH or GPULSE_TOKEN.`,
        );
      if (answer.status < 500 && answer.status !== 429)
        throw failed(
          `${this.place} does not take samples (HTTP ${answer.status}): ${answer.words}`,
        );
      if (waitedMs >= patienceMs)
        throw failed(`${this.place} takes no samples now: ${answer.words}`);
      await pause(waitMs, signal);
      signal.throwIfAborted();
      waitedMs += waitMs;
    }
  }

  async close(): Promise<void> {
    this.#agent.close();
  }

  async #send(body: Uint8Array, signal: AbortSignal): Promise<{ status: number; words: string }> {
    const { token } = this.#access;
    try {
      const answer = await request(this.#url, {
        method: "POST",
        body,
        headers: {
          "content-encoding": "snappy",
          "content-type": "application/x-protobuf",
          "x-prometheus-remote-write-version": "0.1.0",
          ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
        },
        agent: this.#agent,
        timeoutMs,
        maxBytes: 1024 * 1024,
        signal,
      });
      return { status: answer.status, words: answer.body.toString("utf8").trim().slice(0, 500) };
    } catch (thrown) {
      if (!(thrown instanceof HttpRequestError) || thrown.kind === "aborted") throw thrown;
      throw new GpulseError(
        "AGENT_UNREACHABLE",
        `No gpulse hub answers at ${this.place} (${thrown.message}): start one with gpulse up, name it with --url, or name a folder with --data.`,
        { cause: thrown },
      );
    }
  }
}

/** Parses `7 samples stored, 3 rejected: …`, including the wording of older hubs; any other response means that all were rejected. */
function partly(words: string, samples: number): ImportWriteResult {
  const found = /^(\d+) samples (?:stored|are kept), (\d+) (?:rejected|refused): (.*)$/s.exec(
    words,
  );
  if (found === null) return { kept: 0, refused: samples, reason: words };
  return { kept: Number(found[1]), refused: Number(found[2]), reason: found[3] ?? words };
}

const failed = (sentence: string): GpulseError => new GpulseError("IMPORT_FAILED", sentence);

export const folderTarget = (history: History): ImportTarget => ({
  place: history.place,
  write: (batch) => writeBatch(history, batch),
  close: () => history.close(),
});

export async function writeBatch(
  writer: SampleWriter,
  batch: SampleBatch,
): Promise<ImportWriteResult> {
  const result = await writer.write(batch);
  const parts = [
    [result.refusedConflicts, "conflict with a stored value of the same time"],
    [result.refusedTooOld, "are older than the retention: name a longer one with --retention"],
    [result.refusedByLimit, "exceed the limit of series"],
  ] as const;
  const reasons = parts.filter(([count]) => count > 0).map(([count, why]) => `${count} ${why}`);
  return {
    kept: result.stored + result.duplicates,
    refused: parts.reduce((sum, [count]) => sum + count, 0),
    ...(reasons.length === 0 ? {} : { reason: reasons.join(", ") }),
  };
}

/** Dry run: counts the samples without writing them. */
export const dryTarget: ImportTarget = {
  place: "nowhere",
  write: async ({ sampleCount }) => ({ kept: sampleCount, refused: 0 }),
  close: async () => {},
};
