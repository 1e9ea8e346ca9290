/** Decodes request bodies: small ones at once, large ones one at a time in a worker thread, whose clients take turns. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { limitYoungGeneration } from "../../../base/heap.ts";
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

/** Beside the executable; this code may be in the executable itself or in a chunk one folder down. */
function findWorkerFile(): string | undefined {
  return ["./decode-worker.js", "../decode-worker.js"]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((file) => existsSync(file));
}

export class BodyDecoder {
  readonly #decoders = new Decoders();
  readonly #file: string | undefined;
  readonly #maxHeapMib: number;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  /** @param bodiesBytes what all request bodies may take */
  constructor(bodiesBytes = Number.POSITIVE_INFINITY, file = findWorkerFile()) {
    this.#file = file;
    const wanted = Math.floor((2 * bodiesBytes) / 2 ** 20);
    this.#maxHeapMib = Math.min(mostHeapMib, Math.max(leastHeapMib, wanted));
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
      if (bytes <= largeBytes || this.#file === undefined)
        return this.#decoders.decode(kind, body, options);
      await hold.enterLarge();
      return await this.#run(this.#file, { kind, body, options });
    } finally {
      hold.leaveLarge();
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(file: string): Worker {
    const worker = new Worker(file, {
      name: "decode",
      resourceLimits: {
        maxOldGenerationSizeMb: this.#maxHeapMib,
        maxYoungGenerationSizeMb: this.#maxHeapMib / 8,
      },
    });
    worker.once("online", limitYoungGeneration);
    return worker;
  }

  #run<Kind extends DecodeKind>(
    file: string,
    { kind, body, options }: DecodeJob,
  ): Promise<DecodeKinds[Kind]["result"]> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start(file));
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        worker.off("message", answered).off("error", lost).off("exit", ended);
        this.#idle = setTimeout(() => void this.close(), idleMs).unref();
        settle();
      };
      const answered = ({ result, refused, failed }: DecodeResult): void =>
        end(() => {
          if (result !== undefined) resolve(result);
          else if (refused === undefined) reject(new Error(failed ?? "the decode worker failed"));
          else reject(new ReceiveError(refused.status, refused.outcome, refused.message));
        });
      // It ran out of memory or time: the body is what is wrong, and the next one gets another thread.
      const lost = (): void =>
        end(() => {
          this.#worker = undefined;
          void worker.terminate();
          reject(tooCostly());
        });
      const ended = lost;
      const timer = setTimeout(lost, decodeMs);
      worker.on("message", answered).on("error", lost).on("exit", ended);
      const own = body.byteLength === body.buffer.byteLength ? body : Uint8Array.from(body);
      worker.postMessage({ kind, body: own, options } satisfies DecodeJob, [
        own.buffer as ArrayBuffer,
      ]);
    });
  }
}

const tooCostly = (): ReceiveError =>
  new ReceiveError(
    413,
    "too_large_request",
    "the request takes too long or too much memory to decode: send less at a time",
  );
