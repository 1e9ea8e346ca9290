// Loaded into the hub's process before the program (`--import`, bundled by lab.ts): makes operations on files of the data folder
// fail, tear or kill the process, as CRASH_RULES says. Every fault that happens is a line in the file CRASH_LOG.

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";

import type { FaultRule, Operation, Outcome } from "./rules.ts";

const rules = JSON.parse(process.env["CRASH_RULES"] ?? "[]") as readonly FaultRule[];
const dataDir = path.resolve(process.env["CRASH_DATA"] ?? ".");
const logFile = process.env["CRASH_LOG"] ?? "";
const real = { ...fs };
const openAsync = fs.promises.open;
const names = new Map<number, string>();
const states = rules.map((rule) => ({
  rule,
  pattern: new RegExp(rule.file),
  matches: 0,
  times: 0,
  firstMs: Number.NaN,
}));

/** Relative to the data folder; undefined for files elsewhere. */
function nameOf(file: unknown): string | undefined {
  const full = typeof file === "number" ? names.get(file) : path.resolve(String(file));
  if (full === dataDir) return ".";
  return full?.startsWith(dataDir + path.sep) === true
    ? path.relative(dataDir, full).replaceAll(path.sep, "/")
    : undefined;
}

/** What happens to this operation; undefined where it proceeds. */
function decide(operation: Operation, file: unknown): Outcome | undefined {
  const name = nameOf(file);
  if (name === undefined) return undefined;
  for (const state of states) {
    const { operations, after, times = Infinity, forMs = Infinity, outcome } = state.rule;
    if (!operations.includes(operation) || !state.pattern.test(name)) continue;
    if (state.matches++ < after || state.times >= times) continue;
    if (Number.isNaN(state.firstMs)) state.firstMs = performance.now();
    if (performance.now() - state.firstMs > forMs) continue;
    state.times++;
    real.appendFileSync(logFile, `${outcome} ${operation} ${name}\n`);
    return outcome;
  }
  return undefined;
}

const die = (): void => void process.kill(process.pid, "SIGKILL");
const failure = (code: string, operation: string, file: unknown): Error =>
  Object.assign(new Error(`${code}: injected, ${operation} '${nameOf(file)}'`), { code });
const codeOf = (outcome: Outcome): string => (outcome.startsWith("ENOSPC") ? "ENOSPC" : "EIO");

/** Runs an operation that takes effect as a whole. */
function whole<Result>(operation: Operation, file: unknown, perform: () => Result): Result {
  const outcome = decide(operation, file);
  if (outcome === undefined) return perform();
  if (outcome === "kill" || outcome === "kill, torn") die();
  if (outcome === "kill after") {
    perform();
    die();
  }
  if (outcome === "short") return perform();
  throw failure(codeOf(outcome), operation, file);
}

/** Runs a write, of which `performPart` writes about half; `performShort` where a caller has to expect that. */
function written<Result>(
  file: unknown,
  perform: () => Result,
  performPart: () => Result,
  performShort = performPart,
): Result {
  const outcome = decide("write", file);
  if (outcome === undefined) return perform();
  if (outcome === "kill after") perform();
  if (outcome === "short") return performShort();
  if (outcome === "kill, torn" || outcome === "EIO, torn" || outcome === "ENOSPC, torn")
    performPart();
  if (outcome.startsWith("kill")) die();
  throw failure(codeOf(outcome), "write", file);
}

const half = (bytes: unknown): string | Uint8Array =>
  typeof bytes === "string"
    ? bytes.slice(0, Math.ceil(bytes.length / 2))
    : (bytes as Uint8Array).subarray(0, Math.ceil((bytes as Uint8Array).byteLength / 2));

const patched = {
  openSync: (file: fs.PathLike, flags: fs.OpenMode, mode?: fs.Mode): number => {
    const fd = whole("open", file, () => real.openSync(file, flags, mode));
    names.set(fd, path.resolve(String(file)));
    return fd;
  },
  closeSync: (fd: number): void => {
    names.delete(fd);
    real.closeSync(fd);
  },
  readSync: (fd: number, ...rest: [Buffer, number, number, number | null]): number =>
    whole("read", fd, () => real.readSync(fd, ...rest)),
  readFileSync: (file: fs.PathOrFileDescriptor, options?: BufferEncoding): string | Buffer =>
    whole("read", file, () => real.readFileSync(file, options)),
  writeSync: (fd: number, bytes: Buffer | string, ...rest: number[]): number => {
    if (typeof bytes === "string")
      return written(
        fd,
        () => real.writeSync(fd, bytes, rest[0]),
        () => real.writeSync(fd, half(bytes) as string, rest[0]),
      );
    const [offset = 0, length = bytes.length - offset, position] = rest;
    return written(
      fd,
      () => real.writeSync(fd, bytes, offset, length, position),
      () => real.writeSync(fd, bytes, offset, Math.ceil(length / 2), position),
    );
  },
  writeFileSync: (
    file: fs.PathOrFileDescriptor,
    data: string | Uint8Array,
    options?: fs.WriteFileOptions,
  ): void =>
    written(
      file,
      () => real.writeFileSync(file, data, options),
      () => real.writeFileSync(file, half(data), options),
      () => real.writeFileSync(file, data, options),
    ),
  fsyncSync: (fd: number): void => whole("sync", fd, () => real.fsyncSync(fd)),
  fdatasyncSync: (fd: number): void => whole("sync", fd, () => real.fdatasyncSync(fd)),
  fdatasync: (fd: number, done: fs.NoParamCallback): void => {
    try {
      whole("sync", fd, () => real.fdatasync(fd, done));
    } catch (thrown) {
      setImmediate(() => done(thrown as Error));
    }
  },
  ftruncateSync: (fd: number, length?: number): void =>
    whole("write", fd, () => real.ftruncateSync(fd, length)),
  renameSync: (from: fs.PathLike, to: fs.PathLike): void =>
    whole("rename", to, () => real.renameSync(from, to)),
  linkSync: (from: fs.PathLike, to: fs.PathLike): void =>
    whole("rename", to, () => real.linkSync(from, to)),
  rmSync: (file: fs.PathLike, options?: fs.RmOptions): void =>
    whole("remove", file, () => real.rmSync(file, options)),
};

const patchedOpen = async (
  file: fs.PathLike,
  flags?: string | number,
  mode?: fs.Mode,
): Promise<fs.promises.FileHandle> => {
  await whole("open", file, async () => undefined);
  const handle = await openAsync(file, flags, mode);
  const write = handle.write.bind(handle) as (...given: unknown[]) => Promise<unknown>;
  const [datasync, sync] = [handle.datasync.bind(handle), handle.sync.bind(handle)];
  return Object.assign(handle, {
    write: async (...given: unknown[]) => whole("write", file, () => write(...given)),
    datasync: async () => whole("sync", file, () => datasync()),
    sync: async () => whole("sync", file, () => sync()),
  });
};

Object.assign(fs, patched);
Object.assign(fs.promises, { open: patchedOpen });
syncBuiltinESMExports();
