/** What is said where a spool keeps nothing, to somebody who could wait: only a person can mend that. */
import { GpulseError } from "../base/error.ts";

export function createSpoolError(sink: string, folder: string): GpulseError {
  return new GpulseError(
    "SINK_FAILED",
    `${sink} cannot keep a frame in ${folder}: the disk is full or refuses to be written, or the frame is larger than spool_bytes. Make room or raise it, and start again: nothing since the last checkpoint is committed.`,
  );
}
