/** Opens a spool's folder: its lock, its cursor, and the pending records in its files. Damage is logged and never fatal. */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../../base/make-folder.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { type FolderLock, FolderLockedError, lockFolder } from "../../base/state/lock.ts";
import type { Clock } from "../../base/clock.ts";
import { SpoolCursor } from "./cursor.ts";
import {
  addPending,
  listSegments,
  newSegment,
  readSegment,
  type Segment,
  segmentFile,
} from "./segment.ts";
import { Spool } from "./spool.ts";

export interface SpoolOptions {
  readonly dir: string;
  /** Disk space limit; beyond it the oldest records are dropped. */
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Name in log lines; the folder's name by default. */
  readonly name?: string;
  readonly segmentBytes?: number;
  readonly newId?: () => string;
}

/**
 * Positions skip ahead by this much at every start, because a power cut may lose records that were already sent, and
 * their positions must not be reused. A smaller gap between files is the number of lost records.
 */
const restartLeap = 2 ** 20;

export interface OpenedSpool {
  readonly segments: Segment[];
  readonly cursor: SpoolCursor;
  readonly lock: FolderLock | undefined;
  readonly nextPosition: number;
  readonly damagedRecords: number;
  readonly damagedBytes: number;
}

export function openSpool(options: SpoolOptions): Spool {
  return new Spool(options, openFolder(options));
}

function openFolder({ dir, log, newId = randomUUID }: SpoolOptions): OpenedSpool {
  const lock = takeLock(dir, log);
  const cursor = new SpoolCursor(path.join(dir, "cursor"), newId);
  const firsts = listSegments(dir);
  const segments: Segment[] = [];
  let [last, expected, damagedRecords, damagedBytes] = [cursor.position, -1, 0, 0];
  firsts.forEach((first, index) => {
    const following = firsts[index + 1];
    if (following !== undefined && following <= cursor.position + 1)
      return rmSync(segmentFile(dir, first), { force: true });
    if (expected >= 0 && first > expected) damagedRecords += (first - expected) % restartLeap;
    last = Math.max(last, first);
    expected = -1;
    try {
      const read = readSegment(dir, first, 0, cursor.position);
      damagedRecords += read.missing;
      damagedBytes += read.damagedBytes;
      if (read.next >= 0) expected = read.next;
      last = Math.max(last, read.next - 1);
      const segment = newSegment(first);
      segment.diskBytes = read.sizeBytes;
      for (const record of read.records) addPending(segment, record);
      if (segment.records > 0) segments.push(segment);
      else rmSync(segmentFile(dir, first), { force: true });
    } catch (thrown) {
      log.error("a file of the spool cannot be read and is passed over", {
        file: segmentFile(dir, first),
        error: formatError(thrown),
      });
    }
    return undefined;
  });
  if (damagedRecords > 0 || damagedBytes > 0)
    log.error("spool is damaged, unreadable records are dropped", {
      dir,
      lostRecords: damagedRecords,
      damagedBytes,
    });
  const nextPosition = last === 0 ? 1 : last + restartLeap;
  return { segments, cursor, lock, nextPosition, damagedRecords, damagedBytes };
}

function takeLock(dir: string, log: Log): FolderLock | undefined {
  try {
    makeFolderSync(dir);
    return lockFolder(dir);
  } catch (thrown) {
    if (thrown instanceof FolderLockedError)
      throw new GpulseError("DATA_FOLDER", thrown.message, { cause: thrown });
    const code = systemCode(thrown);
    if (code !== "ENOSPC" && code !== "EDQUOT")
      throw new GpulseError(
        "DATA_FOLDER",
        thrown instanceof GpulseError
          ? thrown.message
          : `Cannot use the spool folder ${dir} (${code ?? formatError(thrown)}): check its owner, or choose another folder.`,
        { cause: thrown },
      );
    log.warn("the disk is full: the spool is open without its lock", { dir });
    return undefined;
  }
}
