/**
 * Follows a file another program writes: its bytes from the start, then what is added. Knows a file that was cut short,
 * written over or replaced, and says so. Looks on a schedule, since change notices do not come from network shares.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { pause } from "../../base/retry.ts";
import { systemCode } from "../../base/error.ts";

export type FileFollowEvent =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  /** Cut short or written over: what follows begins at the file's first byte. */
  | { readonly kind: "rewritten" }
  /** Another file has taken its name; the one before was read to its end. */
  | { readonly kind: "replaced" }
  /** Everything there is has been given. */
  | { readonly kind: "idle" };

const chunkBytes = 262_144;
/** Bytes before the place we stand at, to see that they are still what they were. */
const tailBytes = 64;

export class FileFollower {
  readonly #path: string;
  readonly #pollMs: number;
  #handle: FileHandle | undefined;
  #offset = 0;
  #tail: Buffer = Buffer.alloc(0);

  constructor(path: string, pollMs: number) {
    this.#path = path;
    this.#pollMs = pollMs;
  }

  /** Goes on where it stopped when it is run again. A file that is not there yet is waited for. */
  async *run(signal: AbortSignal): AsyncGenerator<FileFollowEvent> {
    while (!signal.aborted) {
      yield* this.#look();
      if (signal.aborted) return;
      yield { kind: "idle" };
      await pause(this.#pollMs, signal);
    }
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async *#look(): AsyncGenerator<FileFollowEvent> {
    this.#handle ??= await this.#open();
    if (this.#handle === undefined) return;
    yield* this.#rest(this.#handle);
    if (!(await this.#isReplaced(this.#handle))) return;
    // Rows may have been added between the last read and the change of names.
    yield* this.#rest(this.#handle);
    await this.close();
    this.#begin();
    yield { kind: "replaced" };
    this.#handle = await this.#open();
    if (this.#handle !== undefined) yield* this.#rest(this.#handle);
  }

  async *#rest(handle: FileHandle): AsyncGenerator<FileFollowEvent> {
    const { size } = await handle.stat();
    if (size < this.#offset || (size > this.#offset && !(await this.#tailHolds(handle)))) {
      this.#begin();
      yield { kind: "rewritten" };
    }
    while (this.#offset < size) {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - this.#offset));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, this.#offset);
      if (bytesRead === 0) return;
      const bytes = buffer.subarray(0, bytesRead);
      this.#offset += bytesRead;
      this.#tail = Buffer.concat([this.#tail, bytes.subarray(-tailBytes)]).subarray(-tailBytes);
      yield { kind: "bytes", bytes };
    }
  }

  async #tailHolds(handle: FileHandle): Promise<boolean> {
    const there = Buffer.alloc(this.#tail.length);
    await handle.read(there, 0, there.length, this.#offset - there.length);
    return there.equals(this.#tail);
  }

  async #isReplaced(handle: FileHandle): Promise<boolean> {
    try {
      const [ours, named] = await Promise.all([handle.stat(), stat(this.#path)]);
      return ours.ino !== named.ino || ours.dev !== named.dev;
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") return false;
      throw thrown;
    }
  }

  async #open(): Promise<FileHandle | undefined> {
    try {
      return await open(this.#path, "r");
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") return undefined;
      throw thrown;
    }
  }

  #begin(): void {
    this.#offset = 0;
    this.#tail = Buffer.alloc(0);
  }
}
