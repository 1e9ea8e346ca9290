/**
 * Reads a log of framed records from a disk with bad sectors: what cannot be read is zeros in the answer, which hold no
 * record, and everything else is there. An error that passes with a second read costs nothing.
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { systemCode } from "../errors/error.ts";

const sectorBytes = 4_096;
const attempts = 3;

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
    let unreadableBytes = 0;
    for (let at = 0; at < bytes.length; at += sectorBytes) {
      const length = Math.min(sectorBytes, bytes.length - at);
      if (!readSector(fd, bytes, at, length)) unreadableBytes += length;
    }
    return { bytes: aligned(bytes), unreadableBytes };
  } finally {
    closeSync(fd);
  }
}

function readSector(fd: number, bytes: Buffer, at: number, length: number): boolean {
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      readSync(fd, bytes, at, length, at);
      return true;
    } catch (thrown) {
      if (!isMediumError(thrown)) throw thrown;
    }
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
