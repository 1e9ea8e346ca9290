/** Decodes request bodies: small ones at once, large ones one at a time in a worker thread, whose clients take turns. */
import { findWorkerFile, WorkerJobError, WorkerThread } from "../../../base/worker-thread.ts";
import type { AdmissionHold } from "../admission.ts";
import { ReceiveError } from "../failure.ts";
import { type DecodeKind, type DecodeKinds, Decoders } from "./decoders.ts";
import type { DecodeResult, DecodeJob } from "./thread.ts";

/** Decoding so much takes some 10 ms in the worst case; agents and Prometheus send less. */
const largeBytes = 256 * 1024;
const idleMs = 30_000;
const decodeMs = 20_000;
/** The heap of the worker: twice what request bodies may take, since a body unpacks to objects. */
const [leastHeapMib, mostHeapMib] = [64, 512];

export class BodyDecoder {
  readonly #decoders = new Decoders();
  readonly #worker: WorkerThread<DecodeJob, DecodeResult> | undefined;

  /** @param bodiesBytes what all request bodies may take */
  constructor(bodiesBytes = Number.POSITIVE_INFINITY, file = findWorkerFile("decode-worker.js")) {
    if (file === undefined) return;
    const wanted = Math.floor((2 * bodiesBytes) / 2 ** 20);
    const heapMib = Math.min(mostHeapMib, Math.max(leastHeapMib, wanted));
    this.#worker = new WorkerThread({
      file,
      name: "decode",
      idleMs,
      jobTimeoutMs: decodeMs,
      resourceLimits: {
        maxOldGenerationSizeMb: heapMib,
        maxYoungGenerationSizeMb: heapMib / 8,
      },
    });
  }

  /**
   * @param hold of the request: a large body waits for its turn, and gives it back when it is decoded
   * @param bytes how large the body is once it is unpacked
   * @throws ReceiveError or BatchTooLargeError where the body cannot be accepted.
   */
  async decode<Kind extends DecodeKind>(
    kind: Kind,
    body: Buffer,
    options: DecodeKinds[Kind]["options"],
    hold: Pick<AdmissionHold, "enterLarge" | "leaveLarge">,
    bytes = body.length,
  ): Promise<DecodeKinds[Kind]["result"]> {
    try {
      if (bytes <= largeBytes || this.#worker === undefined)
        return this.#decoders.decode(kind, body, options);
      await hold.enterLarge();
      return await decodeIn(this.#worker, { kind, body, options });
    } finally {
      hold.leaveLarge();
    }
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}

async function decodeIn<Kind extends DecodeKind>(
  worker: WorkerThread<DecodeJob, DecodeResult>,
  { kind, body, options }: DecodeJob,
): Promise<DecodeKinds[Kind]["result"]> {
  const own = body.byteLength === body.buffer.byteLength ? body : Uint8Array.from(body);
  const { result, refused } = await worker
    .run({ kind, body: own, options }, [own.buffer as ArrayBuffer])
    .catch((thrown: unknown) => {
      // The thread ran out of memory or time: the body is too costly, and the next one gets another thread.
      throw thrown instanceof WorkerJobError ? thrown : tooCostly();
    });
  if (result !== undefined) return result;
  throw refused === undefined
    ? new Error("the decode worker failed")
    : new ReceiveError(refused.status, refused.outcome, refused.message);
}

const tooCostly = (): ReceiveError =>
  new ReceiveError(
    413,
    "too_large_request",
    "the request takes too long or too much memory to decode: send less at a time",
  );
