/**
 * A worker thread that decodes request bodies. The result of a body in shared memory is written to the same memory; any other
 * body is transferred here and its batch is transferred back.
 */
import { workerData } from "node:worker_threads";
import { serveJobs } from "../../../base/worker-thread.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import { LabelHasher } from "../../../formats/samples/label-hash.ts";
import { BatchTooLargeError } from "../../../formats/samples/labels.ts";
import { ReceiveError, type RequestOutcome } from "../failure.ts";
import { type DecodeKind, type DecodeKinds, Decoders } from "./decoders.ts";
import { type PackedHistograms, packHistograms } from "./packed-histograms.ts";
import { type SharedBatch, writeShared } from "./shared-batch.ts";

/** `workerData` of the thread. */
export interface DecodeThreadData {
  readonly labelSeeds: Uint32Array;
}

export interface DecodeJob {
  readonly kind: DecodeKind;
  readonly options: DecodeKinds[DecodeKind]["options"];
  /** A transferred body, or */
  readonly body?: Uint8Array;
  /** shared memory whose first `bodyBytes` are the body. */
  readonly memory?: SharedArrayBuffer;
  readonly bodyBytes?: number;
}

export interface DecodeResult {
  readonly result?: DecodeKinds[DecodeKind]["result"];
  /** Set if the batch of `result` is in shared memory. */
  readonly batch?: SharedBatch | undefined;
  /** The histograms of the batch of `result`, which has none itself. */
  readonly packed?: PackedHistograms | undefined;
  readonly refused?:
    | {
        readonly status: number;
        readonly outcome: RequestOutcome;
        readonly message: string;
      }
    | undefined;
}

const decoders = new Decoders();
const hasher = new LabelHasher((workerData as DecodeThreadData).labelSeeds);
/** Placeholder for a batch in shared memory. */
const noBatch = { bytes: new Uint8Array(0) } as SampleBatch;

serveJobs<DecodeResult>(
  (job: DecodeJob) => {
    try {
      return job.memory === undefined ? decodeMoved(job) : decodeShared(job, job.memory);
    } catch (thrown) {
      return { refused: refusalOf(thrown) };
    }
  },
  ({ result, batch, packed = batch?.packed }) => [
    ...(result === undefined || batch !== undefined ? [] : buffersOf(result.batch)),
    ...(packed === undefined ? [] : [packed.numbers.buffer, packed.indexes.buffer]),
  ],
);

function decodeMoved({ kind, body = new Uint8Array(0), options }: DecodeJob): DecodeResult {
  const bytes = Buffer.from(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
  return withPacked(decoders.decode(kind, bytes, options));
}

function withPacked(result: NonNullable<DecodeResult["result"]>): DecodeResult {
  const { histograms, ...batch } = result.batch;
  if (histograms === undefined) return { result };
  return { result: { ...result, batch }, packed: packHistograms(histograms) };
}

function decodeShared(
  { kind, options, bodyBytes = 0 }: DecodeJob,
  memory: SharedArrayBuffer,
): DecodeResult {
  const room = new Uint8Array(memory, bodyBytes);
  const result = decoders.decode(kind, Buffer.from(memory, 0, bodyBytes), options, room);
  const batch = writeShared(result.batch, memory, bodyBytes, hasher);
  if (batch !== undefined) return { result: { ...result, batch: noBatch }, batch };
  // The columns need more room: the batch is transferred, without a reference to the shared bytes.
  return withPacked({ ...result, batch: { ...result.batch, bytes: result.batch.bytes.slice() } });
}

/** @throws any error that is not a refusal of the body */
function refusalOf(thrown: unknown): DecodeResult["refused"] {
  if (thrown instanceof BatchTooLargeError)
    return { status: 413, outcome: "too_large_request", message: thrown.message };
  if (!(thrown instanceof ReceiveError)) throw thrown;
  const { status, outcome, message } = thrown;
  return { status, outcome, message };
}

function buffersOf(batch: SampleBatch): ArrayBuffer[] {
  const { bytes, labelStarts, labelEnds, sampleSeries, times, values } = batch;
  const all = [bytes, labelStarts, labelEnds, sampleSeries, times, values];
  return [...new Set(all.map(({ buffer }) => buffer as ArrayBuffer))].filter(isOwn);
}

/** Node's pool of small buffers is shared: buffers in it are copied. */
const isOwn = (buffer: ArrayBuffer): boolean => buffer.byteLength !== Buffer.poolSize;
