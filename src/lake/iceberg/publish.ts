/**
 * Publishes the state of a lake as an Iceberg table: `TABLE/metadata/vN.metadata.json` with a manifest list and one manifest of
 * all files per snapshot, as Iceberg's Hadoop catalog reads them. The lake's manifest decides which files are in the table; the
 * next writer updates a table that fell behind after a kill. The version's file is created only if no other process has created
 * it.
 */
import { randomUUID } from "node:crypto";
import * as v from "valibot";
import { type FileStore, FileStoreError } from "../../net/objects/store.ts";
import type { CommittedFile, LakeCommit } from "../commit.ts";
import { joinRanges } from "../ranges.ts";
import type { TableName } from "../table.ts";
import { type AvroValue, encodeAvroFile } from "./avro.ts";
import {
  metadataSchema,
  nextMetadata,
  nextSchema,
  type TableSnapshotChange,
  type TableMetadata,
} from "./metadata.ts";
import { manifestEntrySchema, manifestListSchema, partitionFields } from "./schema.ts";

export interface IcebergState {
  readonly sequence: number;
  readonly timeMs: number;
  /** The files of this table, with the commit that added each. */
  readonly files: readonly CommittedFile[];
  /** The known commits: for the offsets of the snapshot. */
  readonly commits: Iterable<LakeCommit>;
  readonly expireBeforeMs: number;
  /** The URL at which readers find the lake. */
  readonly location: string;
  /** Adds a snapshot even if no file changed, so that the table drops expired ones. */
  readonly isForced: boolean;
}

/** Metadata versions retained for readers that have opened one. */
const retainedVersions = 100;
const dayMs = 86_400_000;

export async function publishIceberg(
  files: FileStore,
  table: TableName,
  state: IcebergState,
  signal?: AbortSignal,
): Promise<void> {
  const folder = `${table}/metadata/`;
  for (;;) {
    const versions = (await files.list(`${folder}v`, signal))
      .flatMap(({ path }) => /\/v(\d+)\.metadata\.json$/.exec(path)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
    const newest = versions.at(-1) ?? 0;
    const before = newest === 0 ? undefined : await readMetadata(files, folder, newest, signal);
    if (newest > 0 && before === undefined) continue;
    if ((before?.["last-sequence-number"] ?? 0) >= state.sequence) return;
    if (!state.isForced && !hasChanged(before, state)) return;
    const made = await writeSnapshot(files, table, state, before, signal);
    const bytes = Buffer.from(JSON.stringify(made.metadata));
    if (!(await files.create(`${folder}v${newest + 1}.metadata.json`, bytes, signal))) {
      for (const path of made.paths) await files.remove(path, signal);
      continue;
    }
    await files.write(`${folder}version-hint.text`, Buffer.from(String(newest + 1)), signal);
    await removeExpired(files, folder, made.metadata, versions, signal);
    return;
  }
}

function hasChanged(before: TableMetadata | undefined, { files }: IcebergState): boolean {
  const published = before?.["last-sequence-number"] ?? 0;
  const total = Number(before?.snapshots.at(-1)?.summary["total-data-files"] ?? 0);
  const isNew = ({ sequence = 0 }: CommittedFile): boolean => sequence > published;
  return files.length !== total || files.some(isNew);
}

/** Undefined if another process has removed it: then there are newer ones. */
async function readMetadata(
  files: FileStore,
  folder: string,
  version: number,
  signal: AbortSignal | undefined,
): Promise<TableMetadata | undefined> {
  try {
    const bytes = await files.read(`${folder}v${version}.metadata.json`, undefined, signal);
    return v.parse(metadataSchema, JSON.parse(Buffer.from(bytes).toString("utf8")));
  } catch (thrown) {
    if (thrown instanceof FileStoreError && thrown.code === "FILES_MISSING") return undefined;
    throw thrown;
  }
}

async function writeSnapshot(
  files: FileStore,
  table: TableName,
  state: IcebergState,
  before: TableMetadata | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly metadata: TableMetadata; readonly paths: readonly string[] }> {
  const { sequence, timeMs, expireBeforeMs } = state;
  const location = before?.location ?? `${state.location}/${table}`;
  const place = (path: string): string => location + path.slice(table.length);
  const change = changeSince(before?.["last-sequence-number"] ?? 0, table, state);
  const { schema } = nextSchema(table, before);
  const timeId = schema.fields.find(({ name }) => name === "time")?.id ?? 1;
  const name = `${table}/metadata/${String(sequence).padStart(12, "0")}-${randomUUID()}`;
  const [manifest, list] = [`${name}-m0.avro`, `${name}-snap.avro`];
  const entries = [
    ...change.added.map((file) => entryOf(file, place(file.path), timeId, sequence)),
    ...change.existing.map((file) => entryOf(file, place(file.path), timeId)),
  ];
  const manifestBytes = encodeAvroFile(
    manifestEntrySchema,
    {
      schema: JSON.stringify(schema),
      "schema-id": String(schema["schema-id"]),
      "partition-spec": JSON.stringify(partitionFields(timeId)),
      "partition-spec-id": "0",
      "format-version": "2",
      content: "data",
    },
    entries,
  );
  await files.write(manifest, manifestBytes, signal);
  const rowsOf = (some: readonly CommittedFile[]): number =>
    some.reduce((sum, { rows }) => sum + rows, 0);
  const days = state.files.map(dayOf).sort((a, b) => a - b);
  const sequences = change.existing.map((file) => file.sequence ?? 0);
  const record = {
    manifest_path: place(manifest),
    manifest_length: manifestBytes.length,
    partition_spec_id: 0,
    content: 0,
    sequence_number: sequence,
    min_sequence_number: sequences.reduce((least, one) => Math.min(least, one), sequence),
    added_snapshot_id: sequence,
    added_files_count: change.added.length,
    existing_files_count: change.existing.length,
    deleted_files_count: 0,
    added_rows_count: rowsOf(change.added),
    existing_rows_count: rowsOf(change.existing),
    deleted_rows_count: 0,
    partitions: [
      {
        contains_null: false,
        contains_nan: false,
        lower_bound: days.length === 0 ? null : int32(days[0] ?? 0),
        upper_bound: days.length === 0 ? null : int32(days.at(-1) ?? 0),
      },
    ],
  };
  const listMetadata = {
    "snapshot-id": String(sequence),
    "sequence-number": String(sequence),
    "format-version": "2",
  };
  await files.write(list, encodeAvroFile(manifestListSchema, listMetadata, [record]), signal);
  const metadata = nextMetadata({
    table,
    before,
    uuid: randomUUID(),
    location,
    sequence,
    timeMs,
    change,
    manifestList: place(list),
    expireBeforeMs,
  });
  return { metadata, paths: [manifest, list] };
}

function changeSince(before: number, table: TableName, state: IcebergState): TableSnapshotChange {
  const isNew = ({ sequence = 0 }: CommittedFile): boolean => sequence > before;
  const commits = [...state.commits].filter(({ sequence }) => sequence > before);
  const isOfTable = (path: string): boolean => path.startsWith(`${table}/`);
  return {
    added: state.files.filter(isNew),
    existing: state.files.filter((file) => !isNew(file)),
    removed: commits.flatMap(({ removed }) => removed.filter(isOfTable)).length,
    offsets: joinRanges(
      commits
        .flatMap(({ added }) => added.filter(({ path }) => isOfTable(path)))
        .flatMap(({ origins = [] }) => origins),
    ),
  };
}

/** Status 1 is added, with the snapshot's own sequence number; 0 exists since an earlier one. */
function entryOf(file: CommittedFile, path: string, timeId: number, snapshot?: number): AvroValue {
  const since = file.sequence ?? 1;
  return {
    status: snapshot === undefined ? 0 : 1,
    snapshot_id: snapshot ?? since,
    sequence_number: snapshot ?? since,
    file_sequence_number: snapshot ?? since,
    data_file: {
      content: 0,
      file_path: path,
      file_format: "PARQUET",
      partition: { time_day: dayOf(file) },
      record_count: file.rows,
      file_size_in_bytes: file.bytes,
      lower_bounds: [{ key: timeId, value: micros(Math.round(file.firstMs)) }],
      upper_bounds: [{ key: timeId, value: micros(Math.round(file.lastMs)) }],
    },
  };
}

const dayOf = ({ firstMs }: CommittedFile): number => Math.floor(firstMs / dayMs);

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function micros(timeMs: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(timeMs) * 1_000n);
  return bytes;
}

/** Removes manifests of dropped snapshots, and old versions of the metadata. */
async function removeExpired(
  files: FileStore,
  folder: string,
  { snapshots }: TableMetadata,
  versions: readonly number[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const version of versions.slice(0, -retainedVersions))
    await files.remove(`${folder}v${version}.metadata.json`, signal);
  const oldest = snapshots[0]?.["sequence-number"] ?? 0;
  for (const { path } of await files.list(folder, signal)) {
    const sequence = /\/(\d{12})-[0-9a-f-]{36}-(?:m0|snap)\.avro$/.exec(path)?.[1];
    if (sequence !== undefined && Number(sequence) < oldest) await files.remove(path, signal);
  }
}
