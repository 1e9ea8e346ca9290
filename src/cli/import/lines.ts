/**
 * Reads a file's lines as bytes, with their number and end offset. Holds one line at a time, however large the file is; a line
 * that is too long is marked.
 */
import { createReadStream } from "node:fs";

export interface FileLine {
  /** Including its line break, if any. */
  readonly bytes: Buffer;
  readonly number: number;
  /** Offset of the next line. */
  readonly end: number;
  readonly tooLong: boolean;
}

const chunkBytes = 262_144;

export async function* readLines(
  file: string,
  maxLineBytes: number,
  signal: AbortSignal,
): AsyncGenerator<FileLine> {
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let lineBytes = 0;
  let end = 0;
  let number = 0;
  const take = (part: Buffer): void => {
    lineBytes += part.length;
    if (lineBytes > maxLineBytes) return;
    kept.push(part);
    keptBytes += part.length;
  };
  const finish = (): FileLine => {
    end += lineBytes;
    const line = {
      bytes: Buffer.concat(kept, keptBytes),
      number: ++number,
      end,
      tooLong: lineBytes > maxLineBytes,
    };
    kept = [];
    keptBytes = 0;
    lineBytes = 0;
    return line;
  };
  for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes, signal })) {
    const bytes = chunk as Buffer;
    let start = 0;
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, start)) {
      take(bytes.subarray(start, at + 1));
      start = at + 1;
      yield finish();
    }
    if (start < bytes.length) take(Buffer.from(bytes.subarray(start)));
  }
  if (lineBytes > 0) yield finish();
}
