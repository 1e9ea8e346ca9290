/**
 * The list of the store's files, replaced atomically: from the moment the manifest lists a block, the block replaces its
 * part of the log. `manifest.json` is one line of JSON and one line with its CRC-32 in hexadecimal.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import * as v from "valibot";
import type { Matcher } from "../../../model/select.ts";
import type { Tombstone } from "../column-source.ts";
import { replaceFile } from "../../../base/state/atomic.ts";
import { StoreError } from "../error.ts";
import type { LogPosition } from "../wal/log.ts";

export const formatVersion = 4;

export interface StoreManifest {
  /** Raised by every change of a file's format that an older version would misread. */
  readonly version: number;
  /** 16 hexadecimal digits in every file of the store; version 1 had none. */
  readonly storeId?: string;
  /** Counts the store's manifests; the first files of version 2 had no count. */
  readonly generation?: number;
  readonly nextBlock: number;
  readonly blocks: readonly number[];
  /** Blocks past retention whose files still exist. */
  readonly removed?: readonly number[];
  /** The trusted time for retention when this manifest was written. */
  readonly trustedMs?: number;
  /** The CRC-32 of each block's footer, by block number. */
  readonly blockChecks?: Readonly<Record<string, number>>;
  /** The first and last timestamp of each rollup's entries, by block number; early files of version 4 had none. */
  readonly rollupRanges?: RollupRanges;
  /** The log is replayed from this segment on. */
  readonly walFrom: number;
  /** Log position at the start of that segment. */
  readonly walStart?: LogPosition;
  /** N of the file `series-N.log` with the label sets. */
  readonly seriesLog: number;
  /** Minimum number of its records. */
  readonly seriesRecords?: number;
  readonly tombstones: readonly StoredTombstone[];
  /** Raw samples before these times may be gone, or cannot be restored; null if nothing has left the store. */
  readonly goneBeforeMs?: number | null;
  readonly unlinkedBeforeMs?: number | null;
  /** Absent before version 4; rollups are then made in the background. */
  readonly rollups?: StoredRollups;
  /** Retention rules by matcher and what they have removed; absent if there are none. */
  readonly rules?: readonly StoredRetainedSeries[];
}

export type RollupRanges = Readonly<Record<string, readonly [fromMs: number, toMs: number]>>;

export interface StoredRetainedSeries {
  readonly match: string;
  readonly matchers: readonly Matcher[];
  /** Null for a rule that is no longer configured. */
  readonly applied: {
    readonly retentionMs: number;
    readonly rollupRetentionMs: number;
    readonly sinceMs: number;
  } | null;
  readonly goneBeforeMs: number | null;
  readonly tiersGoneBeforeMs: readonly (number | null)[];
}

export interface StoredRollups {
  /** Null before the first rollup. */
  readonly rolledToMs: number | null;
  /** `runs` is null for all series. */
  readonly outdated: readonly (StoredRange & { readonly runs: readonly number[] | null })[];
  readonly tiers: readonly {
    readonly resolutionMs: number;
    readonly blocks: readonly number[];
    readonly removed: readonly number[];
    readonly tombstones: readonly StoredTombstone[];
    readonly goneBeforeMs: number | null;
    readonly unlinkedBeforeMs: number | null;
  }[];
}

interface StoredRange {
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Series as runs: first, count, first, count, … An open bound is null, because JSON has no infinity. */
export interface StoredTombstone extends StoredRange {
  readonly beforeBlock: number;
  readonly runs: readonly number[];
}

const versionSchema = v.object({ version: v.number() });
const numbers = v.array(v.number());
const bound = v.nullable(v.number());
const range = { fromMs: bound, toMs: bound };
const tombstones = v.array(v.object({ ...range, beforeBlock: v.number(), runs: numbers }));
const manifestSchema = v.object({
  version: v.pipe(v.number(), v.minValue(1)),
  storeId: v.nullish(v.string()),
  generation: v.nullish(v.number()),
  nextBlock: v.number(),
  blocks: numbers,
  removed: v.nullish(numbers),
  trustedMs: v.nullish(v.number()),
  blockChecks: v.nullish(v.record(v.string(), v.number())),
  rollupRanges: v.nullish(v.record(v.string(), v.tuple([v.number(), v.number()]))),
  walFrom: v.number(),
  walStart: v.nullish(v.object({ sequence: v.number(), samples: v.number() })),
  seriesLog: v.number(),
  seriesRecords: v.nullish(v.number()),
  tombstones,
  goneBeforeMs: v.nullish(v.number()),
  unlinkedBeforeMs: v.nullish(v.number()),
  rollups: v.nullish(
    v.object({
      rolledToMs: bound,
      outdated: v.array(v.object({ ...range, runs: v.nullable(numbers) })),
      tiers: v.array(
        v.object({
          resolutionMs: v.number(),
          blocks: numbers,
          removed: numbers,
          tombstones,
          goneBeforeMs: bound,
          unlinkedBeforeMs: bound,
        }),
      ),
    }),
  ),
  rules: v.nullish(
    v.array(
      v.object({
        match: v.string(),
        matchers: v.array(
          v.object({
            name: v.string(),
            op: v.picklist(["=", "!=", "=~", "!~"]),
            value: v.string(),
          }),
        ),
        applied: v.nullable(
          v.object({ retentionMs: v.number(), rollupRetentionMs: v.number(), sinceMs: v.number() }),
        ),
        goneBeforeMs: bound,
        tiersGoneBeforeMs: v.array(bound),
      }),
    ),
  ),
});

export const newStoreId = (): string => randomBytes(8).toString("hex");

export const emptyManifest: StoreManifest = {
  version: formatVersion,
  nextBlock: 1,
  blocks: [],
  walFrom: 1,
  seriesLog: 1,
  tombstones: [],
};

const fileOf = (dir: string): string => path.join(dir, "manifest.json");

export function writeManifest(dir: string, manifest: StoreManifest): void {
  const line = `${JSON.stringify(manifest)}\n`;
  replaceFile(fileOf(dir), `${line}${zlib.crc32(line).toString(16)}\n`);
}

/** Returns undefined for a folder without a manifest, "damaged" if the checksum is wrong. */
export function readManifest(dir: string): StoreManifest | undefined | "damaged" {
  if (!existsSync(fileOf(dir))) return undefined;
  const text = readFileSync(fileOf(dir), "utf8");
  const end = text.indexOf("\n") + 1;
  if (zlib.crc32(text.slice(0, end)).toString(16) !== text.slice(end).trim()) return "damaged";
  const manifest = parse(text.slice(0, end));
  // The checksum is right, so nothing is damaged: this is a newer format, which must not be modified.
  if (v.is(versionSchema, manifest) && manifest.version > formatVersion)
    throw new StoreError(
      "unusable",
      `${dir} was written by a newer gpulse, in a format this one does not know. Nothing was touched: start the newer version on it, or restore a backup that this one made into another folder.`,
    );
  return v.is(manifestSchema, manifest) ? (manifest as StoreManifest) : "damaged";
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** An open bound is null, because JSON has no infinity. */
export const storeBound = (ms: number): number | null => (Number.isFinite(ms) ? ms : null);

export const loadBound = (ms: number | null): number => ms ?? -Infinity;

export const storeTombstone = ({
  refs,
  beforeBlock,
  fromMs,
  toMs,
}: Tombstone): StoredTombstone => ({
  fromMs: storeBound(fromMs),
  toMs: storeBound(toMs),
  beforeBlock,
  runs: toRuns(refs),
});

/** Encodes ascending numbers as first, count, first, count, … */
export function toRuns(refs: Uint32Array): readonly number[] {
  const runs: number[] = [];
  let [first, length] = [0, 0];
  for (const ref of refs) {
    if (length > 0 && ref === first + length) {
      length++;
      continue;
    }
    if (length > 0) runs.push(first, length);
    [first, length] = [ref, 1];
  }
  if (length > 0) runs.push(first, length);
  return runs;
}

export function fromRuns(runs: readonly number[]): Uint32Array {
  const refs: number[] = [];
  for (let i = 0; i < runs.length; i += 2)
    for (let k = 0; k < (runs[i + 1] as number); k++) refs.push((runs[i] as number) + k);
  return Uint32Array.from(refs);
}

export const loadTombstone = ({ runs, fromMs, toMs, beforeBlock }: StoredTombstone): Tombstone => ({
  fromMs: fromMs ?? -Infinity,
  toMs: toMs ?? Infinity,
  beforeBlock,
  refs: fromRuns(runs),
});
