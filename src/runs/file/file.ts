/** Reads and writes runs as `.gpulserun` bytes and files. Files are written atomically. */
import { randomBytes } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "../../base/make-folder.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import {
  type EntryName,
  maxArchiveBytes,
  openArchive,
  packArchive,
} from "../../formats/run/archive.ts";
import { type TraceLimits, traceLimits } from "../../formats/run/trace-bounds.ts";
import { readTrace, writeTrace } from "../../formats/run/trace.ts";
import type { Run, RunFile } from "../run.ts";
import { checkRun } from "./schema.ts";

export const runExtension = ".gpulserun";
/** Limit of the packed size: larger files are rejected on every path. */
export const maxRunBytes = 256 * 1024 * 1024;

export type UnpackLimits = TraceLimits;
/** Limits for local files; files from the network have lower ones. */
const unpackLimits: UnpackLimits = { ...traceLimits, bytes: maxArchiveBytes };

export interface PackedRun {
  readonly bytes: Uint8Array;
  /** A checksum of the whole file, to prove that two copies are identical. */
  readonly seal: string;
}

export async function packRun(file: RunFile): Promise<PackedRun> {
  const entries = new Map<EntryName, Uint8Array>([
    ["run.json", jsonBytes(file.run)],
    ["trace.parquet", await writeTrace(file.trace, file.run.devices)],
  ]);
  if (file.before !== undefined) entries.set("snapshot-before.json", jsonBytes(file.before));
  if (file.after !== undefined) entries.set("snapshot-after.json", jsonBytes(file.after));
  entries.set("output.log", file.output);
  return packArchive(entries);
}

/** @throws GpulseError RUN_FILE with the reason: the entry that was changed, a newer format. */
export async function unpackRun(
  bytes: Uint8Array,
  shown: string,
  limits: UnpackLimits = unpackLimits,
): Promise<RunFile & { readonly seal: string }> {
  const { entries, seal } = await openArchive(bytes, shown, limits.bytes);
  const trace = entries.get("trace.parquet");
  if (trace === undefined) throw new Error("BUG: an archive was opened without its trace");
  return {
    run: runOf(entries, shown),
    trace: await readTrace(trace, shown, limits),
    before: json(entries.get("snapshot-before.json"), shown),
    after: json(entries.get("snapshot-after.json"), shown),
    output: entries.get("output.log") ?? new Uint8Array(),
    seal,
  };
}

/** Reads the run without its trace; every entry's checksum is verified all the same. */
export async function describeRun(
  bytes: Uint8Array,
  shown: string,
): Promise<{ readonly run: Run; readonly seal: string }> {
  const { entries, seal } = await openArchive(bytes, shown);
  return { run: runOf(entries, shown), seal };
}

export async function readRunFile(file: string): Promise<RunFile & { readonly seal: string }> {
  return unpackRun(await readRunBytes(file), file);
}

export async function readRunBytes(file: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(file);
    if (size > maxRunBytes)
      throw new GpulseError("RUN_FILE", `${file} is larger than a run may be (256 MiB).`);
    return await readFile(file);
  } catch (thrown) {
    if (thrown instanceof GpulseError) throw thrown;
    const why =
      systemCode(thrown) === "ENOENT"
        ? "does not exist"
        : `cannot be read (${formatError(thrown)})`;
    throw new GpulseError("FILE_UNREADABLE", `The run file ${file} ${why}.`, { cause: thrown });
  }
}

/** Creates the folder if needed; an older file of that name is replaced atomically. */
export async function writeRunBytes(file: string, bytes: Uint8Array): Promise<void> {
  const aside = `${file}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    await makeFolder(path.dirname(file));
    await writeFile(aside, bytes);
    await rename(aside, file);
  } catch (thrown) {
    await rm(aside, { force: true }).catch(() => undefined);
    if (thrown instanceof GpulseError) throw thrown;
    throw new GpulseError(
      "RUN_FAILED",
      `The run file ${file} cannot be written (${formatError(thrown)}): choose another place.`,
      { cause: thrown },
    );
  }
}

function runOf(entries: ReadonlyMap<EntryName, Uint8Array>, shown: string): Run {
  return checkRun(json(entries.get("run.json"), shown), shown);
}

function json(bytes: Uint8Array | undefined, shown: string): unknown {
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (thrown) {
    throw new GpulseError("RUN_FILE", `${shown} has an entry that is not JSON.`, { cause: thrown });
  }
}

const jsonBytes = (value: unknown): Uint8Array =>
  Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
