/** Records the files read by the sources, so that a machine's /sys can be examined elsewhere. Never records other processes' files. */
import { systemCode } from "../../base/error.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";

export interface RecordedFile {
  readonly path: string;
  /** Plain text, or base64 for any other content. */
  readonly text?: string;
  readonly base64?: string;
  /** The system error: unreadable files are part of the capture. */
  readonly error?: string;
}

export interface RecordedLink {
  readonly path: string;
  readonly target: string;
}

export interface FileRecording {
  readonly files: readonly RecordedFile[];
  readonly links: readonly RecordedLink[];
}

const maxFiles = 20_000;

export class FileRecorder {
  readonly #files = new Map<string, RecordedFile>();
  readonly #links = new Map<string, RecordedLink>();
  readonly #inner: FileAccess;
  /** Information about processes on this machine is private. */
  readonly #isPrivate: (path: string) => boolean;

  constructor(inner: FileAccess, procfs: string) {
    this.#inner = inner;
    this.#isPrivate = (path) =>
      path.startsWith(`${procfs}/`) && /^\d+(\/|$)/.test(path.slice(procfs.length + 1));
  }

  readonly fileAccess: FileAccess = {
    bytes: async (path, maxBytes) => {
      try {
        const bytes = await this.#inner.bytes(path, maxBytes);
        this.#keep(
          path,
          plainText(bytes)
            ? { path, text: bytes.toString("utf8") }
            : { path, base64: bytes.toString("base64") },
        );
        return bytes;
      } catch (thrown) {
        const error = systemCode(thrown);
        if (error !== undefined && error !== "ENOENT") this.#keep(path, { path, error });
        throw thrown;
      }
    },
    list: (path) => this.#inner.list(path),
    link: async (path) => {
      const target = await this.#inner.link(path);
      if (!this.#isPrivate(path)) this.#links.set(path, { path, target });
      return target;
    },
    resolve: (path) => this.#inner.resolve(path),
  };

  recording(): FileRecording {
    const byPath = (left: { path: string }, right: { path: string }): number =>
      left.path < right.path ? -1 : 1;
    return {
      files: [...this.#files.values()].sort(byPath),
      links: [...this.#links.values()].sort(byPath),
    };
  }

  /** Keeps the first content of each file: a snapshot, not a history. */
  #keep(path: string, file: RecordedFile): void {
    if (this.#isPrivate(path) || this.#files.has(path) || this.#files.size >= maxFiles) return;
    this.#files.set(path, file);
  }
}

function plainText(bytes: Buffer): boolean {
  return bytes.every(
    (byte) => (byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x09 || byte === 0x0d,
  );
}
