/**
 * A lake's manifest on disk: `_commits/SEQUENCE.json`, one file per commit, and `_commits/SEQUENCE.checkpoint.json`, the files of the lake
 * as of that commit. A commit's file is created only if no other process has created it, so commits have one order. New Parquet files
 * wait in `_pending/ID.N.parquet`, outside the tables, until the commit with that ID exists.
 */
import * as v from "valibot";
import { GpulseError } from "../base/error.ts";
import { originsSchema } from "./ranges.ts";

export const commitsFolder = "_commits/";
export const pendingFolder = "_pending/";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const fileSchema = v.object({
  path: v.string(),
  rows: count,
  bytes: count,
  /** The time range of its rows, inclusive. */
  firstMs: v.number(),
  lastMs: v.number(),
  /** The Kafka offsets in the file; absent for rows that are not from a log. */
  origins: v.optional(originsSchema),
  /** Where it waits until the commit exists. */
  staged: v.optional(v.string()),
  /** The sequence number of the commit that added it; in checkpoints. */
  sequence: v.optional(count),
});
/** A Parquet file of a lake as described by the manifest. */
export type CommittedFile = v.InferOutput<typeof fileSchema>;

/** Plain Parquet by day, or the same files as an Iceberg table. */
const lakeFormats = ["parquet", "iceberg"] as const;
export type LakeFormat = (typeof lakeFormats)[number];
/** `parquet` where absent. */
const format = v.optional(v.picklist(lakeFormats));

/** `adopt` adds the files of a lake from before it had a manifest; `expire` removes days past retention. */
const operations = ["append", "merge", "expire", "adopt"] as const;

const commitSchema = v.object({
  version: v.literal(1),
  sequence: count,
  id: v.pipe(v.string(), v.regex(/^[0-9a-f-]{36}$/)),
  timeMs: v.number(),
  operation: v.picklist(operations),
  added: v.array(fileSchema),
  removed: v.array(v.string()),
  format,
});
export type LakeCommit = v.InferOutput<typeof commitSchema>;

const checkpointSchema = v.object({
  version: v.literal(1),
  sequence: count,
  files: v.array(fileSchema),
  format,
  /** Replaced files that earlier snapshots of an Iceberg table still need, and when they were replaced. */
  retired: v.optional(v.array(v.object({ path: v.string(), timeMs: v.number() }))),
});
export type LakeCheckpoint = v.InferOutput<typeof checkpointSchema>;

const padded = (sequence: number): string => String(sequence).padStart(12, "0");
export const commitPath = (sequence: number): string => `${commitsFolder}${padded(sequence)}.json`;
export const checkpointPath = (sequence: number): string =>
  `${commitsFolder}${padded(sequence)}.checkpoint.json`;

/** Parses the path of a manifest file; undefined for other files. */
export function parseManifestPath(
  path: string,
): { readonly kind: "commit" | "checkpoint"; readonly sequence: number } | undefined {
  const [, digits, checkpoint] = /^_commits\/(\d{12})(\.checkpoint)?\.json$/.exec(path) ?? [];
  if (digits === undefined) return undefined;
  return { kind: checkpoint === undefined ? "commit" : "checkpoint", sequence: Number(digits) };
}

export const stagedPath = (id: string, place: number): string =>
  `${pendingFolder}${id}.${place}.parquet`;
/** Marks a commit that only removes files as unfinished. */
export const markerPath = (id: string): string => `${pendingFolder}${id}.marker`;

/** True if the commit refers to this file in `_pending`. */
export const namesPending = ({ id, added }: LakeCommit, path: string): boolean =>
  path === markerPath(id) || added.some(({ staged }) => staged === path);

/** The id of the commit that a file in `_pending` belongs to. */
export const pendingId = (path: string): string =>
  path.slice(pendingFolder.length).split(".", 1)[0] ?? "";

export const parseCommit = (bytes: Uint8Array, path: string): LakeCommit =>
  parse(commitSchema, bytes, path);
export const parseCheckpoint = (bytes: Uint8Array, path: string): LakeCheckpoint =>
  parse(checkpointSchema, bytes, path);

function parse<Schema extends v.GenericSchema>(
  schema: Schema,
  bytes: Uint8Array,
  path: string,
): v.InferOutput<Schema> {
  try {
    return v.parse(schema, JSON.parse(Buffer.from(bytes).toString("utf8")));
  } catch (thrown) {
    throw new GpulseError(
      "LAKE_MANIFEST",
      `${path} of the lake's manifest is damaged or from a newer gpulse: restore it from a backup, or remove _commits so that the next writer lists the lake's files again.`,
      { cause: thrown },
    );
  }
}
