/**
 * Follows a file that another program writes: reads it from the start, then what is appended. Detects and reports a truncated,
 * overwritten or replaced file. Polls, since network shares deliver no change notifications.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { pause } from "../../base/retry.ts";
import { systemCode } from "../../base/error.ts";

export type FileFollowEvent =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  /** The file was truncated or overwritten: the next bytes start at its beginning. */
  | { readonly kind: "rewritten" }
  /** Another file has its name; the previous one has been read to its end. */
  | { readonly kind: "replaced" }
  /** Everything available has been read. */
  | { readonly kind: "idle" };

const chunkBytes = 262_144;
/** Number of bytes before the offset that are compared, to detect that the file was overwritten. */
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

  /** Continues from its offset when it is run again. Waits for a file that does not exist yet. */
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
    // Rows may have been appended between the last read and the replacement.
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
