/** Snapshots of the hub's own machine, in state files. Bounded by number and size; the oldest are evicted first. */
import path from "node:path";
import type { Log } from "../../base/log.ts";
import { StateMap } from "../../base/state/state-map.ts";
import { checkSnapshot } from "../../runs/snapshot/parse.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { GpulseError } from "../../base/error.ts";

export interface SnapshotStoreOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly take: () => Promise<Snapshot>;
  /** Maximum number of snapshots. */
  readonly maxSnapshots?: number;
  /** Maximum size of all snapshots together, as JSON. */
  readonly maxBytes?: number;
}

export interface StoredSnapshot {
  readonly id: string;
  readonly snapshot: Snapshot;
}

export class SnapshotStore {
  readonly #options: SnapshotStoreOptions;
  readonly #stored: StateMap<Snapshot>;
  /** Size of each as JSON, oldest first. */
  readonly #bytes = new Map<string, number>();
  #next = 1;

  constructor(options: SnapshotStoreOptions) {
    this.#options = options;
    this.#stored = new StateMap(path.join(options.dataDir, "snapshots", "snapshots.log"), {
      log: options.log,
      parse: readSnapshot,
    });
    for (const [id, snapshot] of this.#stored.entries()) {
      this.#bytes.set(id, sizeOf(snapshot));
      this.#next = Math.max(this.#next, Number(id) + 1);
    }
  }

  /** Takes a snapshot without storing it. */
  now(): Promise<Snapshot> {
    return this.#options.take();
  }

  async add(label: string | undefined): Promise<StoredSnapshot> {
    const taken = await this.#options.take();
    const snapshot = label === undefined ? taken : { ...taken, label };
    const bytes = sizeOf(snapshot);
    const { maxSnapshots = 500, maxBytes = 24 * 2 ** 20 } = this.#options;
    let total = [...this.#bytes.values()].reduce((sum, size) => sum + size, bytes);
    for (const [id, size] of this.#bytes) {
      if (this.#bytes.size < maxSnapshots && total <= maxBytes) break;
      this.#stored.delete(id);
      this.#bytes.delete(id);
      total -= size;
    }
    const id = String(this.#next++);
    this.#stored.put(id, snapshot);
    this.#bytes.set(id, bytes);
    return { id, snapshot };
  }

  get(id: string): Snapshot | undefined {
    return this.#stored.get(id);
  }

  /** Newest first. */
  list(): StoredSnapshot[] {
    return [...this.#stored.entries()].map(([id, snapshot]) => ({ id, snapshot })).reverse();
  }

  close(): void {
    this.#stored.close();
  }
}

const sizeOf = (snapshot: Snapshot): number => Buffer.byteLength(JSON.stringify(snapshot));

function readSnapshot(value: unknown): Snapshot | undefined {
  try {
    return checkSnapshot(value, "a kept snapshot");
  } catch (thrown) {
    if (thrown instanceof GpulseError) return undefined;
    throw thrown;
  }
}
