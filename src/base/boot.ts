/**
 * Starts an executable of the build and loads its files together with their compiled code. V8 compiles JavaScript as it runs; its
 * output is stored after the first start of a command and read at later ones. Stored code is only a shortcut: if it is missing,
 * damaged, or made for another source, Node or set of flags, it is ignored and written again, and never causes a failure. Bundled
 * separately (scripts/commonjs.mjs).
 */
import { isAscii } from "node:buffer";
import { createHash } from "node:crypto";
import { lstatSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { cachedDataVersionTag, setFlagsFromString } from "node:v8";
import { Script } from "node:vm";
import { isMainThread } from "node:worker_threads";
import { crc32 } from "node:zlib";
import { collectGarbage } from "./heap.ts";
import { makeFolderSync } from "./make-folder.ts";

/** By this time a long-running command has compiled everything that it needs to start. */
const storeAfterMs = 15_000;
/**
 * How much the heap may grow before the next full collection, in percent. V8 lets it grow up to fourfold: with 2,000 rules that
 * was 20 to 40 MiB of garbage, with 20,000 new series 33. Not limited during the start, because more frequent collections delay it,
 * and late for commands that end: with a limit after 1 s, a pipe of 60,000 rows took 6 % more processor time.
 */
const heapGrowth = 40;
const servers = ["hub", "up"];
const limitServerAfterMs = 1_000;
const wrapper = "(function(exports,require,module,__load,__importMetaUrl){'use strict';";

type Require = (id: string) => unknown;
type ModuleFunction = (
  exports: unknown,
  require: Require,
  module: { exports: unknown },
  load: (id: string) => Promise<unknown>,
  url: string,
) => void;

/** Runs an entry of a folder of the build. */
export function start(folder: string, entry: string): void {
  // V8 rejects stored code that was made under other flags: the flags that every program sets (heap.ts) are set before the first
  // file.
  if (isMainThread) setFlagsFromString("--semi-space-growth-factor=1");
  const store = isMainThread ? openStore(folder, entry) : undefined;
  if (isMainThread) {
    const isServer = servers.includes(commandWord());
    setTimeout(
      () => {
        limitGrowth();
        // V8 computes the limit when it collects; the start leaves about 10 MiB of garbage. Not later: a full collection discards
        // optimized code whose objects do not live at that moment, and the warm-up (src/hub/warm-up/warm-up.ts) would be in vain.
        if (isServer) collectGarbage();
      },
      isServer ? limitServerAfterMs : storeAfterMs,
    ).unref();
    setTimeout(() => store?.close(), storeAfterMs).unref();
  }
  const modules = new Map<string, { exports: unknown }>();
  const outside = createRequire(join(folder, "package.json"));
  const resolve: Require = (id) => (id.startsWith("./") ? run(id.slice(2)) : outside(id));
  const require = Object.assign((id: string) => resolve(id), outside);
  const load = async (id: string): Promise<unknown> =>
    id.startsWith("./") ? run(id.slice(2)) : import(id);

  function run(name: string): unknown {
    const loaded = modules.get(name);
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {} };
    modules.set(name, module);
    const filename = join(folder, name);
    const source = readFileSync(filename);
    const checksum = crc32(source);
    const script = withStartFlags(
      () =>
        new Script(`${wrapper}${textOf(source)}\n})`, {
          filename,
          columnOffset: -wrapper.length,
          cachedData: store?.find(name, checksum),
        }),
    );
    store?.add(name, checksum, script);
    const call = script.runInThisContext() as ModuleFunction;
    call(module.exports, require, module, load, pathToFileURL(filename).href);
    return module.exports;
  }
  run(entry);
}

/** Nearly every file is ASCII, which is read faster as Latin-1: 3 ms of a hub's start. */
const textOf = (source: Buffer): string => source.toString(isAscii(source) ? "latin1" : "utf8");

let isLimited = false;

function limitGrowth(): void {
  isLimited = true;
  setFlagsFromString(`--heap-growing-percent=${heapGrowth}`);
}

/** Runs `work` under the flags of the start, which V8 checks stored code against. */
function withStartFlags<Result>(work: () => Result): Result {
  if (!isLimited) return work();
  setFlagsFromString("--heap-growing-percent=0");
  try {
    return work();
  } finally {
    limitGrowth();
  }
}

interface StoredCode {
  /** Checksum of the source that the code was compiled from. */
  readonly checksum: number;
  readonly code: Buffer;
}

/** The compiled code of one command. */
class CodeStore {
  readonly #file: string;
  #stored: ReadonlyMap<string, StoredCode>;
  #loaded = new Map<string, { readonly checksum: number; readonly script: Script }>();
  #complete = true;
  readonly #flags = cachedDataVersionTag();

  constructor(file: string) {
    this.#file = file;
    this.#stored = readCode(file);
  }

  find(name: string, checksum: number): Buffer | undefined {
    const found = this.#stored.get(name);
    return found?.checksum === checksum ? found.code : undefined;
  }

  add(name: string, checksum: number, script: Script): void {
    // False only if stored code was passed and accepted.
    if (script.cachedDataRejected !== false) this.#complete = false;
    this.#loaded.set(name, { checksum, script });
  }

  /**
   * Stores and frees the code of all files loaded so far; stores nothing if all of it came from the store, or if flags have
   * changed.
   */
  close(): void {
    try {
      if (!this.#complete) withStartFlags(() => this.#write());
    } catch {
      // A full or read-only disk: the next start compiles again.
    }
    this.#complete = true;
    this.#loaded = new Map();
    this.#stored = new Map();
  }

  #write(): void {
    if (cachedDataVersionTag() !== this.#flags) return;
    writeCode(
      this.#file,
      [...this.#loaded].map(([name, { checksum, script }]) => [
        name,
        { checksum, code: script.createCachedData() },
      ]),
    );
  }
}

function openStore(folder: string, entry: string): CodeStore | undefined {
  try {
    const place = codeFolder(dirname(folder));
    if (place === undefined) return undefined;
    const store = new CodeStore(join(place, codeName(folder, entry)));
    process.once("exit", () => store.close());
    return store;
  } catch {
    return undefined;
  }
}

/**
 * The file name of stored code: one file per command, since each loads other modules, and per build folder, V8 version,
 * architecture and set of flags.
 */
function codeName(folder: string, entry: string): string {
  const key = [folder, entry, process.versions.v8, process.arch, cachedDataVersionTag()].join("\n");
  const made = createHash("sha256").update(key).digest("hex").slice(0, 16);
  return `${commandWord()}-${made}`;
}

function commandWord(): string {
  const [, , word = ""] = process.argv;
  return /^[a-z]{1,20}$/.test(word) ? word : "up";
}

/**
 * The folder for stored code: beside the build if this user may write there, else in the user's cache. Stored code is executed, so
 * the folder must belong to this user and nobody else may write to it.
 */
function codeFolder(dist: string): string | undefined {
  const { GPULSE_CACHE: named, XDG_CACHE_HOME: cache } = process.env;
  const ofUser = named ?? join(cache ?? join(homedir(), ".cache"), "gpulse");
  return [join(dist, ".code"), join(ofUser, "code")].find((folder) => {
    try {
      makeFolderSync(folder, { mode: 0o700 });
    } catch {
      return false;
    }
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found?.isDirectory() !== true) return false;
    return (
      process.geteuid === undefined ||
      (found.uid === process.geteuid() && (found.mode & 0o077) === 0)
    );
  });
}

/*
 * Format of a code file: CRC-32 of all that follows (V8 does not check, and ends the process on damaged code), length of the index,
 * the index as JSON (name, checksum of the source and length of each part), the parts.
 */
const headerBytes = 8;

function readCode(file: string): ReadonlyMap<string, StoredCode> {
  const parts = new Map<string, StoredCode>();
  try {
    const bytes = readFileSync(file);
    if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) return parts;
    let at = headerBytes + bytes.readUInt32LE(4);
    // Written by writeCode, as the checksum proves.
    const index = JSON.parse(bytes.toString("utf8", headerBytes, at)) as [string, number, number][];
    for (const [name, checksum, length] of index) {
      parts.set(name, { checksum, code: bytes.subarray(at, at + length) });
      at += length;
    }
  } catch {
    parts.clear();
  }
  return parts;
}

function writeCode(file: string, parts: readonly (readonly [string, StoredCode])[]): void {
  const index = Buffer.from(
    JSON.stringify(parts.map(([name, { checksum, code }]) => [name, checksum, code.length])),
  );
  const bytes = Buffer.concat([
    Buffer.alloc(headerBytes),
    index,
    ...parts.map(([, { code }]) => code),
  ]);
  bytes.writeUInt32LE(index.length, 4);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  const aside = `${file}.${process.pid}`;
  writeFileSync(aside, bytes, { mode: 0o600 });
  renameSync(aside, file);
}
