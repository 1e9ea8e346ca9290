/** Lists the files of a lake from before it had a manifest, with the facts from their footers. */
import { formatError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { FileInfo, FileStore } from "../net/objects/store.ts";
import type { CommittedFile } from "./commit.ts";
import { openFile } from "./decode.ts";
import { endMerge, readNotes } from "./notes.ts";
import { type LakeFileName, parsePath } from "./names.ts";
import { readOrigins } from "./ranges.ts";
import { committedTables } from "./table.ts";

const parallelReads = 16;

export async function adoptFiles(
  files: FileStore,
  log: Log,
  signal?: AbortSignal,
): Promise<readonly CommittedFile[]> {
  for (const note of await readNotes(files, signal)) await endMerge(files, note, signal);
  const found: { readonly info: FileInfo; readonly name: LakeFileName }[] = [];
  for (const table of committedTables)
    for (const info of await files.list(`${table}/date=`, signal)) {
      const name = parsePath(info.path);
      if (name !== undefined) found.push({ info, name });
    }
  const adopted: CommittedFile[] = [];
  for (let at = 0; at < found.length; at += parallelReads) {
    const described = found
      .slice(at, at + parallelReads)
      .map(({ info, name }) => describe(files, info, name, log, signal));
    for (const file of await Promise.all(described)) if (file !== undefined) adopted.push(file);
  }
  if (adopted.length > 0)
    log.info("the lake has a manifest now", { place: files.name, files: adopted.length });
  return adopted;
}

/** Undefined for an unreadable file: it stays where it is, and `gpulse lake verify` reports it. */
async function describe(
  files: FileStore,
  { path, bytes }: FileInfo,
  { date, origin }: LakeFileName,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<CommittedFile | undefined> {
  try {
    const { rowCount, metadata } = await openFile(files, path, bytes, signal);
    const origins = readOrigins(metadata);
    // Files from before 0.3 have their last offset in their name.
    if (origins.length === 0 && origin?.last !== undefined)
      origins.push({ ...origin, last: origin.last });
    const firstMs = Date.parse(`${date}T00:00:00Z`);
    return {
      path,
      rows: rowCount,
      bytes,
      firstMs,
      lastMs: firstMs + 86_399_999,
      ...(origins.length > 0 && { origins }),
    };
  } catch (thrown) {
    log.warn("a file of the lake cannot be read", { file: path, error: formatError(thrown) });
    return undefined;
  }
}
