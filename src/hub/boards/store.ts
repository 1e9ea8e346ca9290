/** The boards of a hub, in state files, each with a version number and its earlier versions. Bounded by number and size. */
import path from "node:path";
import type { Log } from "../../base/log.ts";
import { StateMap } from "../../base/state/state-map.ts";
import { type Board, boardLimits } from "../../view/board/board.ts";
import { isRecord } from "./json.ts";
import { checkShape } from "./schema.ts";

/** Format version of the stored records. */
const FORMAT = 1;

export interface BoardVersion {
  /** Increments from 1 with every save. */
  readonly version: number;
  readonly savedMs: number;
  readonly savedBy: string;
  readonly board: Board;
}

export interface StoredBoard extends BoardVersion {
  readonly id: string;
  /** Newest first. */
  readonly earlier: readonly BoardVersion[];
}

export class BoardError extends Error {
  readonly status: 404 | 409 | 507;

  constructor(status: BoardError["status"], sentence: string) {
    super(sentence);
    this.status = status;
  }
}

export interface BoardStoreOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly limits?: Readonly<Record<"boards" | "totalBytes" | "earlierVersions", number>>;
}

export class BoardStore {
  readonly #options: BoardStoreOptions;
  readonly #stored: StateMap<StoredBoard>;
  readonly #bytes = new Map<string, number>();

  constructor(options: BoardStoreOptions) {
    this.#options = options;
    this.#stored = new StateMap(path.join(options.dataDir, "boards", "boards.log"), {
      log: options.log,
      parse: readStored,
    });
    for (const [id, stored] of this.#stored.entries()) this.#bytes.set(id, sizeOf(stored));
  }

  /** Sorted by title. */
  list(): readonly StoredBoard[] {
    return [...this.#stored.values()].sort((one, other) =>
      one.board.title.localeCompare(other.board.title, "en", { numeric: true }),
    );
  }

  /** @throws BoardError */
  get(id: string): StoredBoard {
    const stored = this.#stored.get(id);
    if (stored === undefined)
      throw new BoardError(
        404,
        `There is no board "${id.slice(0, 40)}": GET /api/boards lists them.`,
      );
    return stored;
  }

  /** @throws BoardError */
  add(board: Board, by: string): StoredBoard {
    const { boards } = this.#limits;
    if (this.#stored.size >= boards)
      throw new BoardError(507, `This hub stores at most ${boards} boards: delete one first.`);
    const id = this.#freeId(board.title);
    return this.#put({ ...this.#newVersion(board, by, 1), id, earlier: [] });
  }

  /** `version` is the version the change is based on, so that a concurrent save is not overwritten. @throws BoardError */
  save(id: string, version: number, board: Board, by: string): StoredBoard {
    const { earlier, id: _id, ...before } = this.get(id);
    if (before.version !== version)
      throw new BoardError(
        409,
        `${before.savedBy} saved version ${before.version} of this board meanwhile, and this change was made to version ${version}: open the board again, or save it as a copy.`,
      );
    const next = this.#newVersion(board, by, before.version + 1);
    return this.#put({ ...next, id, earlier: [before, ...earlier] });
  }

  /** @throws BoardError */
  remove(id: string): void {
    this.get(id);
    this.#stored.delete(id);
    this.#bytes.delete(id);
  }

  close(): void {
    this.#stored.close();
  }

  get #limits() {
    return this.#options.limits ?? boardLimits;
  }

  #newVersion(board: Board, savedBy: string, version: number): BoardVersion {
    return { version, savedMs: this.#options.nowMs(), savedBy, board };
  }

  /** Drops earlier versions to make room for the newest. */
  #put(stored: StoredBoard): StoredBoard {
    const { totalBytes, earlierVersions } = this.#limits;
    const others = [...this.#bytes].reduce(
      (sum, [id, bytes]) => (id === stored.id ? sum : sum + bytes),
      0,
    );
    for (let count = Math.min(earlierVersions, stored.earlier.length); count >= 0; count -= 1) {
      const kept = { ...stored, earlier: stored.earlier.slice(0, count) };
      const bytes = sizeOf(kept);
      if (others + bytes > totalBytes) continue;
      this.#stored.put(stored.id, { format: FORMAT, ...kept } as StoredBoard);
      this.#bytes.set(stored.id, bytes);
      return kept;
    }
    throw new BoardError(
      507,
      `All boards together have at most ${totalBytes / 2 ** 20} MiB: delete one first.`,
    );
  }

  /** Derives a URL-friendly id from the title, with a number if it is in use. */
  #freeId(title: string): string {
    const words = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    const base = words.slice(0, 40).replaceAll(/^-+|-+$/g, "") || "board";
    for (let number = 1; ; number += 1) {
      const id = number === 1 ? base : `${base}-${number}`;
      if (!this.#stored.has(id)) return id;
    }
  }
}

const sizeOf = (stored: StoredBoard): number => Buffer.byteLength(JSON.stringify(stored));

function readStored(value: unknown): StoredBoard | undefined {
  if (!isRecord(value) || value["format"] !== FORMAT || typeof value["id"] !== "string")
    return undefined;
  const newest = readVersion(value);
  if (newest === undefined) return undefined;
  const earlier = Array.isArray(value["earlier"]) ? value["earlier"] : [];
  return { ...newest, id: value["id"], earlier: earlier.flatMap((one) => readVersion(one) ?? []) };
}

function readVersion(value: unknown): BoardVersion | undefined {
  if (!isRecord(value)) return undefined;
  const { version, savedMs, savedBy } = value;
  const { board } = checkShape(value["board"]);
  if (board === undefined || typeof version !== "number" || typeof savedMs !== "number")
    return undefined;
  return { version, savedMs, savedBy: typeof savedBy === "string" ? savedBy : "somebody", board };
}
