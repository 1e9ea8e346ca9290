/** The worker thread in which large bodies are decoded: they unpack to a thousand times what was sent, and cost accordingly. */
import { parentPort } from "node:worker_threads";
import { formatError } from "../../../base/error.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import { BatchTooLargeError } from "../../../formats/samples/limits.ts";
import { ReceiveError, type RequestOutcome } from "../failure.ts";
import { type DecodeKind, type DecodeKinds, Decoders } from "./decoders.ts";

export interface DecodeJob {
  readonly kind: DecodeKind;
  readonly body: Uint8Array;
  readonly options: DecodeKinds[DecodeKind]["options"];
}

export interface DecodeResult {
  readonly result?: DecodeKinds[DecodeKind]["result"];
  readonly refused?: {
    readonly status: number;
    readonly outcome: RequestOutcome;
    readonly message: string;
  };
  readonly failed?: string;
}

const port = parentPort;
if (port === null) throw new Error("BUG: the decode worker was not started as a worker");

const decoders = new Decoders();
port.on("message", ({ kind, body, options }: DecodeJob) => {
  const bytes = Buffer.from(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
  try {
    const result = decoders.decode(kind, bytes, options);
    port.postMessage({ result } satisfies DecodeResult, buffersOf(result.batch));
  } catch (thrown) {
    port.postMessage(answerOf(thrown));
  }
});

function answerOf(thrown: unknown): DecodeResult {
  if (thrown instanceof BatchTooLargeError)
    return { refused: { status: 413, outcome: "too_large_request", message: thrown.message } };
  if (!(thrown instanceof ReceiveError)) return { failed: formatError(thrown) };
  const { status, outcome, message } = thrown;
  return { refused: { status, outcome, message } };
}

function buffersOf(batch: SampleBatch): ArrayBuffer[] {
  const { bytes, labelStarts, labelEnds, sampleSeries, times, values } = batch;
  const all = [bytes, labelStarts, labelEnds, sampleSeries, times, values];
  return [...new Set(all.map(({ buffer }) => buffer as ArrayBuffer))].filter(isOwn);
}

/** Node's pool of small buffers is shared: what lies there is copied. */
const isOwn = (buffer: ArrayBuffer): boolean => buffer.byteLength !== Buffer.poolSize;
