// A service's output, in one file that is rotated when it has grown too large, and its last line for the table.

import { closeSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";

const LARGEST_BYTES = 5_000_000;
const TAIL_CHARS = 2_000;

export interface LogFile {
  readonly file: string;
  write(part: Buffer): void;
  lastLine(): string;
  close(): void;
}

/** The previous file stays beside it as NAME.log.1. */
export function openLog(file: string, largestBytes = LARGEST_BYTES): LogFile {
  mkdirSync(path.dirname(file), { recursive: true });
  let handle = openSync(file, "a");
  let sizeBytes = statSync(file).size;
  let tail = "";
  let isOpen = true;
  return {
    file,
    write: (part) => {
      // A program's output may arrive after its end.
      if (!isOpen) return;
      if (sizeBytes + part.length > largestBytes) {
        closeSync(handle);
        renameSync(file, `${file}.1`);
        handle = openSync(file, "a");
        sizeBytes = 0;
      }
      writeSync(handle, part);
      sizeBytes += part.length;
      tail = (tail + part.toString("utf8")).slice(-TAIL_CHARS);
    },
    lastLine: () => {
      const line = tail.split("\n").findLast((one) => one.trim() !== "") ?? "";
      // A program's colours and cursor moves must not get into our table.
      return stripVTControlCharacters(line).trim();
    },
    close: () => {
      if (isOpen) closeSync(handle);
      isOpen = false;
    },
  };
}
