/**
 * Reads a log of framed records from a disk with bad sectors: unreadable sectors are returned as zeros, which hold no record, and
 * everything else is returned intact. Skipping a sector loses its content for good, so a read error is retried first.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { systemCode } from "../error.ts";

const sectorBytes = 4_096;
/**
 * Pauses between attempts, for all sectors of a file together: a disk or a network file system that is being reset is back by then.
 */
const pausesMs = [50, 100, 200, 400, 800];
/** Preallocated space is scanned in slices of this size; its memory is never touched. */
const sliceBytes = 256 * 1024;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

export interface SalvagedFile {
  /** In a buffer of its own, whose start is a multiple of 8. */
  readonly bytes: Buffer;
  /** Everything after these is zeros. */
  readonly usedBytes: number;
  readonly unreadableBytes: number;
}

/** Throws every error of opening, and every read error that is not caused by the medium. */
export function salvageFile(file: string): SalvagedFile {
  const fd = openSync(file, "r");
  try {
    const { size } = fstatSync(fd);
    try {
      return readUsed(fd, size);
    } catch (thrown) {
      if (!isMediumError(thrown)) throw thrown;
    }
    const bytes = allocate(size);
    const pauses = [...pausesMs];
    let unreadableBytes = 0;
    for (let at = 0; at < bytes.length; at += sectorBytes) {
      const length = Math.min(sectorBytes, bytes.length - at);
      if (!readSector(fd, bytes, at, length, pauses)) unreadableBytes += length;
    }
    return { bytes, usedBytes: size, unreadableBytes };
  } finally {
    closeSync(fd);
  }
}

function readUsed(fd: number, size: number): SalvagedFile {
  const slice = Buffer.allocUnsafeSlow(Math.min(size, sliceBytes));
  const zeros = Buffer.alloc(slice.length);
  let usedBytes = size;
  while (usedBytes > 0) {
    const length = Math.min(slice.length, usedBytes);
    readFully(fd, slice, length, usedBytes - length);
    if (slice.compare(zeros, 0, length, 0, length) !== 0) break;
    usedBytes -= length;
  }
  const bytes = allocate(size);
  readFully(fd, bytes, usedBytes, 0);
  return { bytes, usedBytes, unreadableBytes: 0 };
}

function readFully(fd: number, into: Buffer, length: number, position: number): void {
  for (let at = 0; at < length;) {
    const count = readSync(fd, into, at, length - at, position + at);
    // The file has become shorter: the rest is zeros, which hold no record.
    if (count === 0) return void into.fill(0, at, length);
    at += count;
  }
}

/** A zeroed buffer of its own; the system provides its pages when they are written to. */
const allocate = (size: number): Buffer => Buffer.from(new ArrayBuffer(size));

function readSector(
  fd: number,
  bytes: Buffer,
  at: number,
  length: number,
  pauses: number[],
): boolean {
  for (;;) {
    try {
      readSync(fd, bytes, at, length, at);
      return true;
    } catch (thrown) {
      if (!isMediumError(thrown)) throw thrown;
    }
    const pauseMs = pauses.shift();
    if (pauseMs === undefined) break;
    Atomics.wait(sleeper, 0, 0, pauseMs);
  }
  bytes.fill(0, at, at + length);
  return false;
}

const isMediumError = (thrown: unknown): boolean => systemCode(thrown) === "EIO";
