/** The worker thread in which large bodies are decoded: they unpack to a thousand times what was sent, and cost accordingly. */
import { serveJobs } from "../../../base/worker-thread.ts";
import type { SampleBatch } from "../../../formats/samples/batch.ts";
import { BatchTooLargeError } from "../../../formats/samples/labels.ts";
import { ReceiveError, type RequestOutcome } from "../failure.ts";
import { type DecodeKind, type DecodeKinds, Decoders } from "./decoders.ts";

export interface DecodeJob {
  readonly kind: DecodeKind;
  readonly body: Uint8Array;
  readonly options: DecodeKinds[DecodeKind]["options"];
}

export interface DecodeResult {
  readonly result?: DecodeKinds[DecodeKind]["result"];
  readonly refused?:
    | {
        readonly status: number;
        readonly outcome: RequestOutcome;
        readonly message: string;
      }
    | undefined;
}

const decoders = new Decoders();

serveJobs<DecodeResult>(
  ({ kind, body, options }: DecodeJob) => {
    const bytes = Buffer.from(body.buffer as ArrayBuffer, body.byteOffset, body.byteLength);
    try {
      return { result: decoders.decode(kind, bytes, options) };
    } catch (thrown) {
      return { refused: refusalOf(thrown) };
    }
  },
  ({ result }) => (result === undefined ? [] : buffersOf(result.batch)),
);

/** @throws what is no refusal of the body */
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

/** Node's pool of small buffers is shared: what lies there is copied. */
const isOwn = (buffer: ArrayBuffer): boolean => buffer.byteLength !== Buffer.poolSize;
