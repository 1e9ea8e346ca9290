/** A page of metrics that cannot be read, with the line and what is wrong there. */
import { GpulseError } from "../../base/error.ts";

const shownBytes = 80;

export class ExpositionError extends GpulseError {
  readonly line: number;

  constructor(line: number, sentence: string) {
    super("PAGE_INVALID", `line ${line}: ${sentence}`);
    this.name = "ExpositionError";
    this.line = line;
  }
}

/** Counts lines only now that something is wrong, and quotes the one at fault. */
export function pageError(bytes: Buffer, at: number, sentence: string): ExpositionError {
  let line = 1;
  let start = 0;
  for (let next = bytes.indexOf(10); next !== -1 && next < at; next = bytes.indexOf(10, start)) {
    line++;
    start = next + 1;
  }
  const end = bytes.indexOf(10, start);
  const stop = Math.min(end === -1 ? bytes.length : end, start + shownBytes);
  const text = bytes.toString("utf8", start, stop);
  return new ExpositionError(line, `${sentence}, in ${JSON.stringify(text)}`);
}
