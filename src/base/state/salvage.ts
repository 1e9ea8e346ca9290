/**
 * Reads a log of framed records from a disk with bad sectors: what cannot be read is zeros in the answer, which hold no
 * record, and everything else is there. Giving a sector up costs what is in it for good, so an error gets time to pass.
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { systemCode } from "../error.ts";

const sectorBytes = 4_096;
/** Pauses between attempts, for all sectors of a file together: a disk or a network file system that is reset is back by then. */
const pausesMs = [50, 100, 200, 400, 800];
const sleeper = new Int32Array(new SharedArrayBuffer(4));

export interface SalvagedFile {
  /** In memory of its own, whose start is a multiple of 8. */
  readonly bytes: Buffer;
  readonly unreadableBytes: number;
}

/** Throws what opening throws, and every error of reading that is none of the medium. */
export function salvageFile(file: string): SalvagedFile {
  try {
    return { bytes: aligned(readFileSync(file)), unreadableBytes: 0 };
  } catch (thrown) {
    if (!isMediumError(thrown)) throw thrown;
  }
  const fd = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(fstatSync(fd).size);
    const pauses = [...pausesMs];
    let unreadableBytes = 0;
    for (let at = 0; at < bytes.length; at += sectorBytes) {
      const length = Math.min(sectorBytes, bytes.length - at);
      if (!readSector(fd, bytes, at, length, pauses)) unreadableBytes += length;
    }
    return { bytes: aligned(bytes), unreadableBytes };
  } finally {
    closeSync(fd);
  }
}

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

/** Columns are then read in place. */
function aligned(bytes: Buffer): Buffer {
  if (bytes.byteOffset % 8 === 0) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
