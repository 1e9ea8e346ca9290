/**
 * The audit log: one line of JSON per change in `access/audit.jsonl` of the data folder, appended by the hub and by commands
 * that change its state, never rewritten. Contains no secret. A disk error does not block the change itself.
 *
 *   {"time":"2026-11-15T17:00:00.000Z","who":"owner","by":"token","address":"10.0.0.7","what":"DELETE /api/tokens/:id",
 *    "target":"a1b2c3","outcome":"done","status":200}
 *
 * At `maxFileBytes` the file is rotated to `audit.1.jsonl`, that one to `audit.2.jsonl`, and so on; the oldest is deleted.
 * Entries caused by callers without administrator rights go to `audit-unprivileged.jsonl` and its own rotated files, so that a
 * flood of them evicts no administrator's entry.
 */
import {
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { makeFolderSync } from "../base/make-folder.ts";
import { formatError, systemCode } from "../base/error.ts";
import type { Log } from "../base/log.ts";

const noteSchema = v.object({
  who: v.string(),
  by: v.picklist(["token", "session", "user", "share", "cli", "nobody"]),
  address: v.optional(v.string()),
  what: v.string(),
  target: v.optional(v.string()),
  outcome: v.picklist(["done", "refused"]),
  status: v.optional(v.number()),
  why: v.optional(v.string()),
});
const entrySchema = v.object({
  ...noteSchema.entries,
  time: v.pipe(
    v.string(),
    v.check((text) => Number.isFinite(Date.parse(text))),
  ),
});

export type AuditNote = Readonly<v.InferOutput<typeof noteSchema>>;
/** An audit note with its time, in ISO 8601 UTC. */
export type AuditEntry = Readonly<v.InferOutput<typeof entrySchema>>;

export interface AuditOptions {
  readonly dataDir: string;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Bytes per file before rotation. */
  readonly maxFileBytes?: number;
}

/** About 20,000 entries. */
const defaultFileBytes = 4 * 1024 * 1024;
/** Rotated files per stream, besides the current one. */
const maxAuditFiles = 3;
const streams = ["audit", "audit-unprivileged"] as const;
type Stream = (typeof streams)[number];
const maxTextChars = 300;

export class AuditLog {
  readonly #folder: string;
  readonly #log: Log;
  readonly #nowMs: () => number;
  readonly #maxFileBytes: number;
  #refused = 0;
  #isClosed = false;

  constructor({ dataDir, log, nowMs, maxFileBytes }: AuditOptions) {
    this.#folder = path.join(dataDir, "access");
    this.#log = log;
    this.#nowMs = nowMs;
    this.#maxFileBytes = maxFileBytes ?? defaultFileBytes;
  }

  /** Entries lost to disk errors since the last successful write. */
  get refusedByDisk(): number {
    return this.#refused;
  }

  note(note: AuditNote, { privileged = true }: { readonly privileged?: boolean } = {}): void {
    if (this.#isClosed) return;
    const line = lineOf(note, this.#nowMs());
    try {
      this.#append(privileged ? "audit" : "audit-unprivileged", line);
      if (this.#refused > 0) this.#log.info("audit log is writable again", { lost: this.#refused });
      this.#refused = 0;
    } catch (thrown) {
      if (this.#refused === 0)
        this.#log.error("audit log write failed: changes are not recorded", {
          error: formatError(thrown),
        });
      this.#refused++;
    }
  }

  /** Returns the newest entries first, at most `limit`, all older than `beforeMs`. */
  tail(limit: number, beforeMs = Number.POSITIVE_INFINITY): readonly AuditEntry[] {
    return streams
      .flatMap((stream) => this.#tailOf(stream, limit, beforeMs))
      .sort((one, other) => Date.parse(other.time) - Date.parse(one.time))
      .slice(0, limit);
  }

  #tailOf(stream: Stream, limit: number, beforeMs: number): readonly AuditEntry[] {
    const found: AuditEntry[] = [];
    for (let age = 0; age <= maxAuditFiles && found.length < limit; age++) {
      const lines = readLines(this.#file(stream, age));
      for (let at = lines.length - 1; at >= 0 && found.length < limit; at--) {
        const entry = entryOf(lines[at] ?? "");
        if (entry !== undefined && Date.parse(entry.time) < beforeMs) found.push(entry);
      }
    }
    return found;
  }

  close(): void {
    this.#isClosed = true;
  }

  /** Opens the file each time: another process may have rotated it, and changes are rare. */
  #append(stream: Stream, line: string): void {
    makeFolderSync(this.#folder, { mode: 0o700 });
    const fd = openSync(this.#file(stream, 0), "a+", 0o600);
    let size = 0;
    try {
      ({ size } = fstatSync(fd));
      const last = Buffer.alloc(1);
      // A process killed during a write leaves half a line. It stays as a line of its own.
      const isTorn = size > 0 && readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
      size += writeSync(fd, `${isTorn ? "\n" : ""}${line}\n`);
    } finally {
      closeSync(fd);
    }
    if (size >= this.#maxFileBytes) this.#rotate(stream);
  }

  #rotate(stream: Stream): void {
    for (let age = maxAuditFiles; age > 0; age--) {
      try {
        renameSync(this.#file(stream, age - 1), this.#file(stream, age));
      } catch (thrown) {
        if (systemCode(thrown) !== "ENOENT") throw thrown;
      }
    }
  }

  #file(stream: Stream, age: number): string {
    return path.join(this.#folder, age === 0 ? `${stream}.jsonl` : `${stream}.${age}.jsonl`);
  }
}

function lineOf(note: AuditNote, nowMs: number): string {
  const text = (value: string | undefined): string | undefined =>
    value === undefined ? undefined : withoutSecrets(value).slice(0, maxTextChars);
  return JSON.stringify({
    time: new Date(nowMs).toISOString(),
    who: text(note.who),
    by: note.by,
    address: text(note.address),
    what: text(note.what),
    target: text(note.target),
    outcome: note.outcome,
    status: note.status,
    why: text(note.why),
  });
}

/** Callers pass names, not values; this redacts whatever still looks like a secret. */
function withoutSecrets(text: string): string {
  return text
    .replace(/gpulse_(push|read|admin|share)_[\w-]{8,}/g, "gpulse_$1_<secret>")
    .replace(/:\/\/[^/@\s]*@/g, "://<secret>@")
    .replace(/\b(bearer|basic)\s+\S{8,}/gi, "$1 <secret>");
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return [];
    throw thrown;
  }
}

/** Returns undefined for a torn line or an unknown format. */
function entryOf(line: string): AuditEntry | undefined {
  if (line === "") return undefined;
  try {
    const parsed = v.safeParse(entrySchema, JSON.parse(line));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
