/**
 * Writes samples to a remote engine. Writes that arrive while a request is in flight are combined into the next request,
 * in order; each gets its own result once the engine has responded. The queue is bounded.
 */
import { encodeWriteRequest } from "../../formats/remote-write/encode.ts";
import { type SampleBatch, splitBatch } from "../../formats/samples/batch.ts";
import { compressSnappy } from "../../formats/snappy/compress.ts";
import type { HttpResponse } from "../../net/http/request.ts";
import { StoreError } from "../embedded/error.ts";
import type { AppendResult } from "../embedded/options.ts";
import { wordsOf } from "./connection.ts";

/** Prometheus and Mimir accept up to 100 MiB; requests of a few MiB are as fast. */
const maxRequestBytes = 4 * 2 ** 20;
const maxWaitingBytes = 64 * 2 ** 20;
/** Finding one bad sample among five thousand takes 26 requests. */
const maxTries = 64;

export interface WriteTarget {
  send(body: Uint8Array): Promise<HttpResponse>;
  /** True if one bad sample makes the engine reject the whole request and store none of it. */
  refusesWhole(): boolean;
}

interface QueuedWrite {
  readonly batch: SampleBatch;
  readonly bytes: Uint8Array;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (thrown: unknown) => void;
}

export class RemoteWriter {
  readonly #target: WriteTarget;
  #waiting: QueuedWrite[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;

  constructor(target: WriteTarget) {
    this.#target = target;
  }

  async write(batch: SampleBatch): Promise<AppendResult> {
    if (batch.sampleCount === 0 && batch.metadata.length === 0) return acceptedResult(0);
    const bytes = encodeWriteRequest(batch);
    if (this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > maxWaitingBytes)
      throw new StoreError("unavailable", "the store is slower than its writers");
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, bytes, resolve, reject });
      this.#waitingBytes += bytes.length;
      this.#running ??= this.#run();
    });
  }

  /** Resolves when every accepted write has a response. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const next = this.#take();
      await this.#deliver(next);
      this.#waitingBytes -= next.reduce((sum, { bytes }) => sum + bytes.length, 0);
    }
    this.#running = undefined;
  }

  #take(): QueuedWrite[] {
    let bytes = 0;
    const more = this.#waiting.findIndex((one, at) => {
      bytes += one.bytes.length;
      return at > 0 && bytes > maxRequestBytes;
    });
    return this.#waiting.splice(0, more < 0 ? this.#waiting.length : more);
  }

  async #deliver(parts: readonly QueuedWrite[]): Promise<void> {
    try {
      const answer = await this.#target.send(joined(parts.map(({ bytes }) => bytes)));
      if (isWriteAccepted(answer))
        for (const { batch, resolve } of parts) resolve(acceptedResult(batch.sampleCount));
      else if (!isFinal(answer)) throw unavailableError(answer);
      else if (parts.length === 1)
        for (const { batch, resolve } of parts)
          resolve(await this.#apart(batch, answer, { left: maxTries }));
      // One client's bad sample must not reject the others' samples: each batch is sent alone.
      else for (const part of parts) await this.#deliver([part]);
    } catch (thrown) {
      for (const { reject } of parts) reject(thrown);
    }
  }

  /** Bisects the batch for the rejected sample, so that the rest is stored. */
  async #apart(
    batch: SampleBatch,
    answer: HttpResponse,
    tries: { left: number },
  ): Promise<AppendResult> {
    const worthIt = isTooLarge(answer) || this.#target.refusesWhole();
    if (!worthIt || batch.sampleCount < 2 || tries.left <= 0)
      return refusedResult(batch.sampleCount, answer);
    let result = acceptedResult(0);
    for (const half of splitBatch(batch)) {
      tries.left--;
      const again = await this.#target.send(compressSnappy(encodeWriteRequest(half)));
      if (!isWriteAccepted(again) && !isFinal(again)) throw unavailableError(again);
      result = addResults(
        result,
        isWriteAccepted(again)
          ? acceptedResult(half.sampleCount)
          : await this.#apart(half, again, tries),
      );
    }
    return result;
  }
}

/** Concatenated WriteRequests are one WriteRequest, because all of its fields are repeated. */
const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  compressSnappy(parts.length === 1 ? (parts[0] ?? new Uint8Array(0)) : Buffer.concat(parts));

/** Statuses for which a retry is useless: bad labels, out of order, a conflict, over a limit, too large. */
const final = new Set([400, 409, 413, 422]);

/** Classifies an engine's response to a write: accepted, permanently rejected, or to be retried. */
const isWriteAccepted = ({ status }: HttpResponse): boolean => status >= 200 && status < 300;
const isFinal = ({ status }: HttpResponse): boolean => final.has(status);
const isTooLarge = ({ status }: HttpResponse): boolean => status === 413;

/** Wrong credentials and paths can be fixed on the engine's side, so samples are not dropped for them. */
function unavailableError(answer: HttpResponse): StoreError {
  return new StoreError(
    "unavailable",
    `the store takes no samples now (HTTP ${answer.status}): ${wordsOf(answer)}`,
  );
}

const acceptedResult = (samples: number): AppendResult => ({
  stored: samples,
  late: 0,
  duplicates: 0,
  refusedConflicts: 0,
  refusedTooOld: 0,
  refusedByLimit: 0,
  refusals: [],
});

/** Counts the samples under the reason in the engine's error text, which is part of the result. */
function refusedResult(samples: number, answer: HttpResponse): AppendResult {
  const reason = wordsOf(answer);
  const counted = /duplicate|different value|conflict/i.test(reason)
    ? { refusedConflicts: samples }
    : /limit|too many|exceed/i.test(reason)
      ? { refusedByLimit: samples }
      : { refusedTooOld: samples };
  return { ...acceptedResult(0), ...counted, reason };
}

function addResults(a: AppendResult, b: AppendResult): AppendResult {
  const reason = a.reason ?? b.reason;
  return {
    stored: a.stored + b.stored,
    late: 0,
    duplicates: 0,
    refusedConflicts: a.refusedConflicts + b.refusedConflicts,
    refusedTooOld: a.refusedTooOld + b.refusedTooOld,
    refusedByLimit: a.refusedByLimit + b.refusedByLimit,
    refusals: [],
    ...(reason === undefined ? {} : { reason }),
  };
}
