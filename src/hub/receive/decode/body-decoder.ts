/**
 * Decodes request bodies: small ones on the hub's thread, others in a pool of worker threads. Without a pool, one worker
 * decodes the large ones, one at a time, and the hub's thread all others.
 */
import { availableParallelism } from "node:os";
import { findWorkerFile, WorkerJobError } from "../../../base/worker-thread.ts";
import { labelSeeds } from "../../../formats/samples/label-hash.ts";
import type { AdmissionHold } from "../admission.ts";
import { ReceiveError } from "../failure.ts";
import { DecodePool } from "./decode-pool.ts";
import { type DecodeKind, type DecodeKinds, Decoders } from "./decoders.ts";
import { unpackHistograms } from "./packed-histograms.ts";
import type { DecodeResult, DecodeThreadData } from "./thread.ts";

/** Smaller bodies cost less to decode than to pass to a worker and back. */
const smallBytes = 32 * 1024;
/** Decoding this much takes about 10 ms in the worst case: larger bodies wait for a worker in their client's turn. */
const longBytes = 256 * 1024;
/** Larger bodies are transferred to the worker and back, because their decoded size is a multiple of it. */
const sharedBytes = 2 * 2 ** 20;
const idleMs = 30_000;
const decodeMs = 20_000;
/** Heap limit of a worker: twice the budget for request bodies, since bodies decode to objects. */
const [leastHeapMib, mostHeapMib] = [64, 512];
/** More workers than this decode more than the hub's thread can store. */
const mostWorkers = 4;

/** A worker with its requests uses up to a fifth of this: a hub with less memory has no workers. */
const memoryPerWorker = 2 ** 30;

/**
 * On fewer cores, workers compete with the hub's thread: on two cores, remote write with one worker took 1.5 times the
 * processor time of none.
 */
const leastCores = 4;

/** One core less than available: the hub's thread stores what the workers decode. */
export function defaultIngestWorkers(
  cores = availableParallelism(),
  memoryBytes = Infinity,
): number {
  if (cores < leastCores) return 0;
  return Math.min(mostWorkers, cores - 1, Math.floor(memoryBytes / memoryPerWorker));
}

export interface BodyDecoderOptions {
  /** Budget of all request bodies. */
  readonly bodiesBytes?: number | undefined;
  /** 0 disables the pool. */
  readonly workers?: number | undefined;
  readonly file?: string | undefined;
}

type DecodeHold = Pick<
  AdmissionHold,
  "client" | "connection" | "isAlone" | "isReleased" | "enterLarge" | "leaveLarge"
>;

export class BodyDecoder {
  readonly #decoders = new Decoders();
  readonly #pool: DecodePool | undefined;
  readonly #usesPool: boolean;
  /** The last request of each connection that is not stored yet. */
  readonly #unstored = new Map<object, Promise<unknown>>();

  constructor(options: BodyDecoderOptions = {}) {
    const { bodiesBytes = Infinity, workers = defaultIngestWorkers() } = options;
    const file = options.file ?? findWorkerFile("decode-worker.js");
    this.#usesPool = workers > 0;
    if (file === undefined) return;
    const wanted = Math.floor((2 * bodiesBytes) / 2 ** 20);
    const heapMib = Math.min(mostHeapMib, Math.max(leastHeapMib, wanted));
    this.#pool = new DecodePool(Math.max(1, workers), {
      file,
      name: "decode",
      idleMs,
      jobTimeoutMs: decodeMs,
      resourceLimits: {
        maxOldGenerationSizeMb: heapMib,
        maxYoungGenerationSizeMb: heapMib / 8,
      },
      data: { labelSeeds: Uint32Array.from(labelSeeds) } satisfies DecodeThreadData,
    });
  }

  /**
   * Decodes a body and passes the result to `store`: its batch is valid until that has settled. Requests of one connection are
   * stored in the order of the calls.
   * @param hold the request's reservations: a large body waits for a slot, and releases it once decoded
   * @param bytes the decompressed size of the body
   * @throws ReceiveError or BatchTooLargeError if the body cannot be accepted.
   */
  async decode<Kind extends DecodeKind, Stored>(
    kind: Kind,
    body: Buffer,
    options: DecodeKinds[Kind]["options"],
    hold: DecodeHold,
    store: (decoded: DecodeKinds[Kind]["result"]) => Promise<Stored>,
    bytes = body.length,
  ): Promise<Stored> {
    const { connection } = hold;
    const before = this.#unstored.get(connection);
    const stored = this.#decode(kind, body, options, hold, bytes, async (decoded) => {
      await before?.catch(() => undefined);
      return store(decoded);
    });
    this.#unstored.set(connection, stored);
    try {
      return await stored;
    } finally {
      if (this.#unstored.get(connection) === stored) this.#unstored.delete(connection);
    }
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  async #decode<Kind extends DecodeKind, Stored>(
    kind: Kind,
    body: Buffer,
    options: DecodeKinds[Kind]["options"],
    hold: DecodeHold,
    bytes: number,
    store: (decoded: DecodeKinds[Kind]["result"]) => Promise<Stored>,
  ): Promise<Stored> {
    let release: (() => void) | undefined;
    try {
      let decoded: DecodeKinds[Kind]["result"];
      try {
        const pool = this.#poolFor(bytes, hold);
        if (pool !== undefined && bytes > longBytes) await hold.enterLarge();
        if (pool === undefined) decoded = this.#decoders.decode(kind, body, options);
        else if (this.#usesPool && bytes <= sharedBytes) {
          const turn = bytes > longBytes ? "now" : "wait";
          const pooled = await pool
            .decode({ kind, options }, body, bytes, hold, turn)
            .catch(tooCostly);
          ({ release } = pooled);
          decoded = resultOf(pooled.answer);
        } else {
          const own = body.byteLength === body.buffer.byteLength ? body : Uint8Array.from(body);
          const answer = await pool
            .decodeLarge({ kind, body: own, options }, own.buffer as ArrayBuffer)
            .catch(tooCostly);
          decoded = resultOf(answer);
        }
      } finally {
        hold.leaveLarge();
      }
      return await store(decoded);
    } finally {
      release?.();
    }
  }

  /** Returns undefined if the hub's thread decodes the body: it is small, or a worker would not be faster. */
  #poolFor(bytes: number, hold: DecodeHold): DecodePool | undefined {
    const pool = this.#pool;
    if (pool === undefined || bytes > longBytes) return pool;
    const gains = this.#usesPool && bytes > smallBytes && !hold.isAlone && pool.isAvailable;
    return gains ? pool : undefined;
  }
}

/** The worker exceeded its memory or time: the body is rejected, and the next one gets a new thread. */
function tooCostly(thrown: unknown): never {
  if (thrown instanceof WorkerJobError || thrown instanceof ReceiveError) throw thrown;
  throw new ReceiveError(
    413,
    "too_large_request",
    "the request takes too long or too much memory to decode: send less at a time",
  );
}

function resultOf({ result, packed, refused }: DecodeResult): NonNullable<DecodeResult["result"]> {
  if (result !== undefined)
    return packed === undefined
      ? result
      : { ...result, batch: { ...result.batch, histograms: unpackHistograms(packed) } };
  throw refused === undefined
    ? new Error("the decode worker failed")
    : new ReceiveError(refused.status, refused.outcome, refused.message);
}
