/** The commits that a lake retains, newest first. */
import type { FileStore } from "../net/objects/store.ts";
import {
  commitPath,
  commitsFolder,
  type LakeCommit,
  parseCommit,
  parseManifestPath,
} from "./commit.ts";
import type { OffsetRange } from "./names.ts";
import { joinRanges } from "./ranges.ts";

export interface HistoryEntry extends Pick<LakeCommit, "sequence" | "timeMs" | "operation"> {
  readonly filesAdded: number;
  readonly filesRemoved: number;
  /** Rows in the added files: a merge rewrites rows that were committed before. */
  readonly rows: number;
  readonly bytes: number;
  readonly offsets: readonly OffsetRange[];
}

export async function readHistory(
  files: FileStore,
  limit: number,
  signal?: AbortSignal,
): Promise<readonly HistoryEntry[]> {
  const sequences = (await files.list(commitsFolder, signal)).flatMap(({ path }) => {
    const found = parseManifestPath(path);
    return found?.kind === "commit" ? [found.sequence] : [];
  });
  const entries: HistoryEntry[] = [];
  for (const sequence of sequences.sort((a, b) => b - a).slice(0, limit)) {
    const path = commitPath(sequence);
    entries.push(describeCommit(parseCommit(await files.read(path, undefined, signal), path)));
  }
  return entries;
}

const describeCommit = ({
  sequence,
  timeMs,
  operation,
  added,
  removed,
}: LakeCommit): HistoryEntry => ({
  sequence,
  timeMs,
  operation,
  filesAdded: added.length,
  filesRemoved: removed.length,
  rows: added.reduce((sum, { rows }) => sum + rows, 0),
  bytes: added.reduce((sum, { bytes }) => sum + bytes, 0),
  offsets: joinRanges(added.flatMap(({ origins = [] }) => origins)),
});
