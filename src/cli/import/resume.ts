/** Persists the progress of imports in a small file, so that an interrupted one can resume. Written after each acknowledged batch. */
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import * as v from "valibot";
import { makeFolderSync } from "../../base/make-folder.ts";
import { GpulseError } from "../../base/error.ts";
import { replaceFile } from "../../base/state/atomic.ts";

const schema = v.object({
  version: v.literal(1),
  imports: v.record(v.string(), v.object({ position: v.number(), at: v.string() })),
});

const mostImports = 1_000;
const headBytes = 4_096;

export class ResumeFile {
  readonly #file: string;
  readonly #imports: Map<string, { position: number; at: string }>;

  constructor(file: string) {
    this.#file = file;
    this.#imports = new Map(Object.entries(readState(file)));
  }

  /** Position up to which everything is imported; -1 if nothing is. */
  position(key: string): number {
    return this.#imports.get(key)?.position ?? -1;
  }

  advance(key: string, position: number, nowMs: number): void {
    this.#imports.delete(key);
    this.#imports.set(key, { position, at: new Date(nowMs).toISOString() });
    for (const old of [...this.#imports.keys()].slice(0, -mostImports)) this.#imports.delete(old);
    this.#write();
  }

  /** Marks the import as complete: another run starts from the beginning, which does no harm. */
  finish(key: string): void {
    if (!this.#imports.delete(key)) return;
    if (this.#imports.size === 0) rmSync(this.#file, { force: true });
    else this.#write();
  }

  #write(): void {
    makeFolderSync(dirname(this.#file));
    const state = { version: 1, imports: Object.fromEntries(this.#imports) };
    replaceFile(this.#file, `${JSON.stringify(state)}\n`);
  }
}

function readState(file: string): v.InferOutput<typeof schema>["imports"] {
  if (!existsSync(file)) return {};
  try {
    return v.parse(schema, JSON.parse(readFileSync(file, "utf8"))).imports;
  } catch (thrown) {
    throw new GpulseError(
      "FILE_FORMAT",
      `${file} is not a state file of gpulse import. Delete it to start over.`,
      { cause: thrown },
    );
  }
}

/** The key of an import: the same file with the same options and target. A file with another beginning is another import. */
export function importKey(what: string, target: string, options: unknown): string {
  const hash = createHash("sha256");
  hash.update(JSON.stringify([what.includes("://") ? what : resolve(what), target, options]));
  if (!what.includes("://")) hash.update(headOf(what));
  return hash.digest("hex").slice(0, 32);
}

function headOf(file: string): Buffer {
  const head = Buffer.alloc(headBytes);
  const handle = openSync(file, "r");
  try {
    return head.subarray(0, readSync(handle, head, 0, headBytes, 0));
  } finally {
    closeSync(handle);
  }
}
