/** Parses a snapshot file. Truncated files and other kinds or versions are rejected with one sentence. */
import { checkValue } from "../../config/check.ts";
import { GpulseError } from "../../base/error.ts";
import {
  type Snapshot,
  snapshotFormat,
  snapshotSchema,
  snapshotVersion,
} from "../../machine/snapshot.ts";

/** A machine with 256 fully connected GPUs needs about 8 MB. */
export const mostSnapshotBytes = 32 * 2 ** 20;

const makeOne = "gpulse snapshot save FILE creates one";

/** `name` identifies the text in messages: a file or an address. */
export function parseSnapshot(text: string, name: string): Snapshot {
  if (text.trim() === "") throw bad(`${name} is empty: ${makeOne}.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    const isCut = text.trimStart().startsWith("{") && !text.trimEnd().endsWith("}");
    throw bad(
      isCut
        ? `${name} is cut short: copy or save it again (${makeOne}).`
        : `${name} is not JSON, so not a snapshot: ${makeOne}.`,
      thrown,
    );
  }
  return checkSnapshot(value, name);
}

export function checkSnapshot(value: unknown, name: string): Snapshot {
  const { format, version, schema } = (
    typeof value === "object" && value !== null ? value : {}
  ) as Readonly<Record<string, unknown>>;
  if (format !== snapshotFormat)
    throw bad(
      typeof schema === "string" && schema.startsWith("gpulse.stats/")
        ? `${name} is a response of /stats, not a snapshot: use /api/snapshot, or ${makeOne}.`
        : `${name} is other JSON, not a snapshot of gpulse ("format" is not "${snapshotFormat}"): ${makeOne}.`,
    );
  if (version !== snapshotVersion)
    throw bad(
      typeof version === "number" && version > snapshotVersion
        ? `${name} is a snapshot of version ${version}, made by a newer gpulse: this one reads version ${snapshotVersion}. Update it.`
        : `${name} has no version this gpulse knows ("version" must be ${snapshotVersion}): ${makeOne}.`,
    );
  const checked = checkValue(snapshotSchema, value);
  if (checked.ok) return checked.value;
  const [first, ...more] = checked.problems;
  throw bad(
    `${name} is damaged: ${first?.sentence ?? "it does not have a snapshot's shape."}${more.length === 0 ? "" : ` (${more.length} more)`} Take a new one: ${makeOne}.`,
  );
}

const bad = (sentence: string, cause?: unknown): GpulseError =>
  new GpulseError("FILE_FORMAT", sentence, { cause });
