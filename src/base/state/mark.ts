/**
 * How far a state file has been written, in a small file beside it: `{"generation":3,"records":17}`. Checksums detect damaged
 * records; only this mark detects records missing at the end, and a file that was emptied, deleted or replaced by an older one.
 * Written after each record, so a crash leaves the mark behind the file, never ahead of it.
 */
import { readFileSync } from "node:fs";
import * as v from "valibot";
import { systemCode } from "../error.ts";
import { replaceFile, ReplacedUnsyncedError } from "./atomic.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const markSchema = v.object({
  /** Number of rewrites of the file. */
  generation: count,
  /** Records of this generation, including the header. */
  records: count,
});
export type StateFileMark = Readonly<v.InferOutput<typeof markSchema>>;

export const markFile = (file: string): string => `${file}.mark`;

/** Undefined if there is no mark: the file is new, or an earlier gpulse wrote it. "damaged" if the file holds no valid mark. */
export function readMark(file: string): StateFileMark | "damaged" | undefined {
  let text: string;
  try {
    text = readFileSync(markFile(file), "utf8");
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
  try {
    const parsed = v.safeParse(markSchema, JSON.parse(text));
    return parsed.success ? parsed.output : "damaged";
  } catch {
    return "damaged";
  }
}

export function writeMark(file: string, mark: StateFileMark): void {
  try {
    replaceFile(markFile(file), `${JSON.stringify(mark)}\n`);
  } catch (thrown) {
    // The mark is valid; after a power cut it may be behind the file, as after a crash.
    if (!(thrown instanceof ReplacedUnsyncedError)) throw thrown;
  }
}

/** True if records that were once stored are missing. */
export const isBehind = (found: StateFileMark, mark: StateFileMark): boolean =>
  found.generation < mark.generation ||
  (found.generation === mark.generation && found.records < mark.records);
