/**
 * Worker threads that decode request bodies of ordinary size. Body and columns are in shared memory, so a request costs the
 * hub's thread one message each way. A worker starts with its first job and ends when idle.
 */
import type { ClientKey } from "../../../base/fair/client-key.ts";
import { FairSlots } from "../../../base/fair/fair-slots.ts";
import { WorkerThread, type WorkerThreadOptions } from "../../../base/worker-thread.ts";
import type { AdmissionHold } from "../admission.ts";
import { clientDisconnected, tooBusy } from "../failure.ts";
import type { DecodeKind, DecodeKinds } from "./decoders.ts";
import { readShared } from "./shared-batch.ts";
import type { DecodeJob, DecodeResult } from "./thread.ts";

/** Larger than the admission limit, which refuses requests first. */
const maxWaiting = 16_384;
const waitMs = 2 ** 31 - 1;
/** A line of text needs up to eight times its size in columns and labels; untouched memory costs nothing. */
const roomPerByte = 8;
/** Buffers of these few sizes are reused for the next request; larger ones are freed. */
const [leastMemoryBytes, mostKeptBytes] = [2 ** 20, 4 * 2 ** 20];

interface PoolWorker {
  readonly thread: WorkerThread<DecodeJob, DecodeResult>;
  jobs: number;
  hasLarge: boolean;
}

interface PooledResult {
  readonly answer: DecodeResult;
  /** Frees the memory of the batch. */
  readonly release: () => void;
}

export class DecodePool {
  readonly #workers: readonly PoolWorker[];
  /** A single client may use half of the slots: one per worker. */
  readonly #slots: FairSlots;
  readonly #free: SharedArrayBuffer[] = [];

  constructor(count: number, options: WorkerThreadOptions) {
    this.#slots = new FairSlots({ slots: 2 * count, maxWaiting });
    this.#workers = Array.from({ length: count }, (_, at) => ({
      thread: new WorkerThread<DecodeJob, DecodeResult>({ ...options, name: `decode-${at + 1}` }),
      jobs: 0,
      hasLarge: false,
    }));
  }

  /** True if a worker accepts jobs now: at least one is not decoding a large body. */
  get isAvailable(): boolean {
    return this.#workers.some(({ hasLarge }) => !hasLarge);
  }

  /**
   * Decodes a body of ordinary size. The caller releases the result when its batch is stored.
   * @param bytes the decompressed size of the body
   * @param turn `wait`: wait for the client's turn; `now`: the caller has waited already
   */
  async decode<Kind extends DecodeKind>(
    job: { readonly kind: Kind; readonly options: DecodeKinds[Kind]["options"] },
    body: Buffer,
    bytes: number,
    hold: Pick<AdmissionHold, "client" | "isReleased">,
    turn: "wait" | "now",
  ): Promise<PooledResult> {
    const leave = turn === "wait" ? await this.#enter(hold.client) : undefined;
    const worker = this.#leastBusy();
    worker.jobs++;
    let memory: SharedArrayBuffer | undefined;
    const release = (): void => {
      if (memory !== undefined) this.#keep(memory);
      memory = undefined;
    };
    try {
      if (hold.isReleased) throw clientDisconnected();
      memory = this.#memory(body.length + roomPerByte * bytes);
      new Uint8Array(memory, 0, body.length).set(body);
      const answer = await worker.thread.run({ ...job, memory, bodyBytes: body.length });
      const { batch, result } = answer;
      if (batch === undefined || result === undefined) return { answer, release };
      return {
        answer: { result: { ...result, batch: readShared(batch, memory) } },
        release,
      };
    } catch (thrown) {
      release();
      throw thrown;
    } finally {
      worker.jobs--;
      // The next job starts before this batch is stored.
      leave?.();
    }
  }

  /** Transfers a large body to one worker, which gets no other jobs meanwhile. */
  async decodeLarge(job: DecodeJob, body: ArrayBuffer): Promise<DecodeResult> {
    const worker = this.#leastBusy();
    worker.hasLarge = true;
    try {
      return await worker.thread.run(job, [body]);
    } finally {
      worker.hasLarge = false;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map(({ thread }) => thread.terminate()));
  }

  #enter(client: ClientKey): Promise<() => void> {
    return this.#slots.enter({ client, waitMs }).catch(() => {
      throw tooBusy();
    });
  }

  /** The first worker among those with the fewest jobs: under low load one thread does all the work, with warm code and caches. */
  #leastBusy(): PoolWorker {
    const weightOf = ({ jobs, hasLarge }: PoolWorker): number => jobs + (hasLarge ? 1_000 : 0);
    return this.#workers.reduce((best, worker) =>
      weightOf(worker) < weightOf(best) ? worker : best,
    );
  }

  #memory(bytes: number): SharedArrayBuffer {
    const size = Math.max(leastMemoryBytes, 2 ** Math.ceil(Math.log2(bytes)));
    // The last used buffer is most likely still in the processor's cache.
    const at = this.#free.findLastIndex(({ byteLength }) => byteLength === size);
    return (at < 0 ? undefined : this.#free.splice(at, 1)[0]) ?? new SharedArrayBuffer(size);
  }

  #keep(memory: SharedArrayBuffer): void {
    if (memory.byteLength > mostKeptBytes) return;
    if (this.#free.length > 2 * this.#workers.length) this.#free.shift();
    this.#free.push(memory);
  }
}
