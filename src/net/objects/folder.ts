/** Files in a local folder. A file is written under a temporary name, synced, and only then renamed. */
import { link, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "../../base/make-folder.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import {
  type ByteRange,
  checkPath,
  type FileInfo,
  type FileStore,
  FileStoreError,
  sortByPath,
  temporaryFolder,
} from "./store.ts";

/** Part of the temporary file names: several writers may share a folder, and their temporary files must not collide. */
let written = 0;

export class FolderFiles implements FileStore {
  readonly name: string;

  constructor(folder: string) {
    this.name = path.resolve(folder);
  }

  async list(prefix: string): Promise<readonly FileInfo[]> {
    const folder = prefix.includes("/") ? path.posix.dirname(`${prefix}x`) : "";
    const found: FileInfo[] = [];
    await this.#collect(folder, found);
    return sortByPath(found.filter((file) => file.path.startsWith(prefix)));
  }

  async read(file: string, range?: ByteRange): Promise<Uint8Array> {
    const place = this.#at(file);
    try {
      if (range === undefined) return await readFile(place);
      const handle = await open(place, "r");
      try {
        const buffer = Buffer.alloc(range.end - range.start);
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, range.start);
        return buffer.subarray(0, bytesRead);
      } finally {
        await handle.close();
      }
    } catch (thrown) {
      throw this.#explain(thrown, file);
    }
  }

  async write(file: string, bytes: Uint8Array): Promise<void> {
    await this.#place(file, bytes, rename);
  }

  async create(file: string, bytes: Uint8Array): Promise<boolean> {
    return this.#place(file, bytes, async (aside, place) => {
      try {
        // A hard link: unlike a rename, it fails if the name is taken.
        await link(aside, place);
      } catch (thrown) {
        // File systems without hard links, such as exFAT: there, two processes may both win within a millisecond.
        if (!["EPERM", "ENOTSUP", "ENOSYS"].includes(systemCode(thrown) ?? "")) throw thrown;
        if ((await stat(place).catch(() => undefined)) !== undefined)
          throw Object.assign(new Error(`${place} is taken`), { code: "EEXIST", dest: place });
        return rename(aside, place);
      }
      await rm(aside);
    });
  }

  async move(from: string, to: string): Promise<void> {
    const place = this.#at(to);
    try {
      await makeFolder(path.dirname(place));
      await rename(this.#at(from), place);
      await syncFolder(path.dirname(place));
    } catch (thrown) {
      if (systemCode(thrown) === "ENOENT") return;
      throw this.#explain(thrown, to);
    }
  }

  /** False if the name is taken. */
  async #place(
    file: string,
    bytes: Uint8Array,
    name: (aside: string, place: string) => Promise<void>,
  ): Promise<boolean> {
    const place = this.#at(file);
    const aside = path.join(
      this.name,
      temporaryFolder,
      `${process.pid}-${Date.now()}-${written++}`,
    );
    try {
      await makeFolder(path.dirname(aside));
      await makeFolder(path.dirname(place));
      const handle = await open(aside, "wx");
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await name(aside, place);
      await syncFolder(path.dirname(place));
      return true;
    } catch (thrown) {
      await rm(aside, { force: true }).catch(() => undefined);
      if (isTaken(thrown, place)) return false;
      throw this.#explain(thrown, file);
    }
  }

  async remove(file: string): Promise<void> {
    try {
      await rm(this.#at(file), { force: true });
    } catch (thrown) {
      throw this.#explain(thrown, file);
    }
  }

  close(): void {}

  #at(file: string): string {
    return path.join(this.name, ...checkPath(file).split("/"));
  }

  async #collect(folder: string, found: FileInfo[]): Promise<void> {
    const entries = await readdir(path.join(this.name, folder), { withFileTypes: true }).catch(
      (thrown: unknown) => {
        if (systemCode(thrown) === "ENOENT") return [];
        throw this.#explain(thrown, folder);
      },
    );
    for (const entry of entries) {
      const inside = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (inside === temporaryFolder) continue;
      if (entry.isDirectory()) await this.#collect(inside, found);
      else if (entry.isFile()) {
        // A file that disappears before `stat` is not listed.
        const seen = await stat(path.join(this.name, inside)).catch(() => undefined);
        if (seen !== undefined)
          found.push({ path: inside, bytes: seen.size, modifiedMs: seen.mtimeMs });
      }
    }
  }

  #explain(thrown: unknown, file: string): FileStoreError {
    const place = path.join(this.name, file);
    switch (systemCode(thrown)) {
      case "ENOENT":
        if (thrown instanceof GpulseError)
          return new FileStoreError("FILES_FAILED", thrown.message, thrown);
        return new FileStoreError("FILES_MISSING", `There is no file ${place}.`, thrown);
      case "EACCES":
      case "EPERM":
      case "EROFS":
        return new FileStoreError(
          "FILES_DENIED",
          `This user may not use ${place}: change its permissions, or choose another folder.`,
          thrown,
        );
      case "ENOTDIR":
      case "EEXIST":
        return new FileStoreError(
          "FILES_FAILED",
          `${place} needs a folder, but there is a file: choose another folder.`,
          thrown,
        );
      case "ENOSPC":
      case "EDQUOT":
        return new FileStoreError(
          "FILES_FULL",
          `No space is left for ${place}: free some, or choose another folder. Nothing is lost; the write is retried.`,
          thrown,
        );
      case undefined:
      default:
        return new FileStoreError("FILES_FAILED", `${place}: ${formatError(thrown)}.`, thrown);
    }
  }
}

const isTaken = (thrown: unknown, place: string): boolean =>
  systemCode(thrown) === "EEXIST" && (thrown as { dest?: unknown }).dest === place;

/**
 * Syncs the folder, because the new name must survive a crash too. Some systems cannot open a folder; there, the file system's own
 * write order has to do.
 */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined);
  try {
    await handle?.sync().catch(() => undefined);
  } finally {
    await handle?.close();
  }
}
