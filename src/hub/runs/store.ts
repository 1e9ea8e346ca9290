/** The hub's benchmark runs: files in a folder beside the history, validated on upload, bounded in number and bytes. */
import { readdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "../../base/make-folder.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import {
  describeRun,
  maxRunBytes,
  readRunBytes,
  runExtension,
  type UnpackLimits,
  unpackRun,
  writeRunBytes,
} from "../../runs/file/file.ts";
import { runIdPattern } from "../../runs/file/schema.ts";
import type { Run, RunFile } from "../../runs/run.ts";

export interface StoredRun {
  readonly run: Run;
  readonly seal: string;
  readonly bytes: number;
}

export interface RunLimits {
  readonly runs: number;
  readonly totalBytes: number;
  readonly runBytes: number;
  /** Decompression limits for an uploaded run, which is in memory while it is validated. */
  readonly unpacked: UnpackLimits;
}

export const runLimits: RunLimits = {
  runs: 1_000,
  totalBytes: 4 * 1024 * 1024 * 1024,
  runBytes: Math.min(maxRunBytes, 64 * 1024 * 1024),
  unpacked: { bytes: 256 * 1024 * 1024, cells: 50_000_000 },
};

/** No space, or another run with the same id: errors that the sender can resolve. */
export class RunRejectedError extends Error {
  readonly status: 409 | 413 | 507;

  constructor(status: 409 | 413 | 507, message: string) {
    super(message);
    this.status = status;
  }
}

export class RunStore {
  readonly #folder: string;
  readonly #log: Log;
  readonly #limits: RunLimits;
  #known: Promise<Map<string, StoredRun>> | undefined;
  /** Serializes uploads: two with the same id must not both be stored. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(folder: string, log: Log, limits: RunLimits = runLimits) {
    this.#folder = folder;
    this.#log = log;
    this.#limits = limits;
  }

  get limits(): RunLimits {
    return this.#limits;
  }

  /** Newest first. */
  async list(): Promise<StoredRun[]> {
    const known = await this.#all();
    return [...known.values()].toSorted((one, other) => other.run.startedMs - one.run.startedMs);
  }

  async get(id: string): Promise<StoredRun | undefined> {
    return (await this.#all()).get(id);
  }

  async bytes(id: string): Promise<Uint8Array | undefined> {
    return (await this.#all()).has(id) ? readRunBytes(this.#file(id)) : undefined;
  }

  async read(id: string): Promise<RunFile | undefined> {
    const bytes = await this.bytes(id);
    return bytes === undefined ? undefined : unpackRun(bytes, `The run ${id}`);
  }

  /** @throws GpulseError if the run is incomplete, RunRejectedError if it cannot be stored. */
  add(bytes: Uint8Array): Promise<{ readonly stored: StoredRun; readonly isNew: boolean }> {
    const added = this.#queue.then(() => this.#add(bytes));
    this.#queue = added.catch(() => undefined);
    return added;
  }

  async #add(bytes: Uint8Array): Promise<{ readonly stored: StoredRun; readonly isNew: boolean }> {
    const { run, seal } = await unpackRun(bytes, "The run", this.#limits.unpacked);
    const known = await this.#all();
    const before = known.get(run.id);
    if (before !== undefined) {
      if (before.seal === seal) return { stored: before, isNew: false };
      throw new RunRejectedError(409, `The hub has another run ${run.id}: delete it there first.`);
    }
    const total = [...known.values()].reduce((sum, one) => sum + one.bytes, bytes.length);
    if (known.size >= this.#limits.runs || total > this.#limits.totalBytes)
      throw new RunRejectedError(507, "The hub stores no more runs: delete some first.");
    await writeRunBytes(this.#file(run.id), bytes);
    const stored: StoredRun = { run, seal, bytes: bytes.length };
    known.set(run.id, stored);
    return { stored, isNew: true };
  }

  async remove(id: string): Promise<boolean> {
    const known = await this.#all();
    if (!known.delete(id)) return false;
    await rm(this.#file(id), { force: true });
    return true;
  }

  #file(id: string): string {
    if (!runIdPattern.test(id)) throw new Error(`BUG: ${id} passed as a run's id`);
    return path.join(this.#folder, `${id}${runExtension}`);
  }

  #all(): Promise<Map<string, StoredRun>> {
    this.#known ??= this.#load();
    return this.#known;
  }

  /** A damaged file is reported and left in place: it may be the only copy. */
  async #load(): Promise<Map<string, StoredRun>> {
    const known = new Map<string, StoredRun>();
    await makeFolder(this.#folder);
    for (const name of (await readdir(this.#folder)).toSorted()) {
      if (!name.endsWith(runExtension)) continue;
      const file = path.join(this.#folder, name);
      try {
        const { size } = await stat(file);
        const described = await describeRun(await readRunBytes(file), file);
        if (`${described.run.id}${runExtension}` === name)
          known.set(described.run.id, { ...described, bytes: size });
      } catch (thrown) {
        if (!(thrown instanceof GpulseError) && systemCode(thrown) === undefined) throw thrown;
        this.#log.warn("unusable benchmark run", { file, error: formatError(thrown) });
      }
    }
    return known;
  }
}
