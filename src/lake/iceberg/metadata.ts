/**
 * Iceberg's table metadata, format version 2: the fields that we read back, and the next version of a table for a state of the
 * lake. Pure.
 */
import * as v from "valibot";
import type { CommittedFile } from "../commit.ts";
import type { OffsetRange } from "../names.ts";
import { tables } from "../schema.ts";
import type { TableName } from "../table.ts";
import { evolveSchema, nameMapping, partitionFields, partitionFieldId } from "./schema.ts";

const snapshotSchema = v.looseObject({
  "snapshot-id": v.number(),
  "sequence-number": v.number(),
  "timestamp-ms": v.number(),
  "manifest-list": v.string(),
  summary: v.record(v.string(), v.string()),
});

export const metadataSchema = v.looseObject({
  "format-version": v.literal(2),
  "table-uuid": v.string(),
  location: v.string(),
  "last-sequence-number": v.number(),
  "last-column-id": v.number(),
  "current-schema-id": v.number(),
  schemas: v.array(
    v.object({
      type: v.literal("struct"),
      "schema-id": v.number(),
      fields: v.pipe(
        v.array(
          v.object({ id: v.number(), name: v.string(), required: v.boolean(), type: v.string() }),
        ),
        v.readonly(),
      ),
    }),
  ),
  snapshots: v.array(snapshotSchema),
  "snapshot-log": v.array(v.looseObject({ "snapshot-id": v.number(), "timestamp-ms": v.number() })),
});
export type TableMetadata = v.InferOutput<typeof metadataSchema>;

/** The changes since the previous snapshot. */
export interface TableSnapshotChange {
  readonly added: readonly CommittedFile[];
  readonly existing: readonly CommittedFile[];
  readonly removed: number;
  readonly offsets: readonly OffsetRange[];
}

export interface NextMetadata {
  readonly table: TableName;
  readonly before: TableMetadata | undefined;
  readonly uuid: string;
  readonly location: string;
  /** The sequence number of the lake's commit; the snapshot's id and sequence number. */
  readonly sequence: number;
  readonly timeMs: number;
  readonly change: TableSnapshotChange;
  readonly manifestList: string;
  /** Snapshots that were replaced before this time are dropped. */
  readonly expireBeforeMs: number;
}

/** The schema of the next version; the manifests need it before the metadata exists. */
export const nextSchema = (table: TableName, before: TableMetadata | undefined) =>
  evolveSchema(before?.schemas ?? [], before?.["last-column-id"] ?? 0, tables[table]);

export function nextMetadata(given: NextMetadata): TableMetadata {
  const { table, before, sequence, timeMs, change } = given;
  const { schema, lastColumnId } = nextSchema(table, before);
  const schemas = [...(before?.schemas ?? [])];
  if (!schemas.includes(schema)) schemas.push(schema);
  const count = (files: readonly CommittedFile[]): number =>
    files.reduce((sum, { rows }) => sum + rows, 0);
  const [addedRows, existingRows] = [count(change.added), count(change.existing)];
  const parent = before?.snapshots.at(-1);
  const snapshot = {
    "snapshot-id": sequence,
    "sequence-number": sequence,
    ...(parent !== undefined && { "parent-snapshot-id": parent["snapshot-id"] }),
    "timestamp-ms": Math.max(timeMs, (parent?.["timestamp-ms"] ?? 0) + 1),
    "manifest-list": given.manifestList,
    "schema-id": schema["schema-id"],
    summary: {
      operation: change.removed === 0 ? "append" : "overwrite",
      "added-data-files": String(change.added.length),
      "added-records": String(addedRows),
      "deleted-data-files": String(change.removed),
      "total-data-files": String(change.added.length + change.existing.length),
      "total-records": String(addedRows + existingRows),
      "gpulse.commit": String(sequence),
      "gpulse.kafka-offsets": JSON.stringify(change.offsets),
    },
  };
  const all = [...(before?.snapshots ?? []), snapshot];
  const snapshots = all.filter(
    (_, at) => (all[at + 1]?.["timestamp-ms"] ?? Number.POSITIVE_INFINITY) >= given.expireBeforeMs,
  );
  const retained = new Set(snapshots.map((one) => one["snapshot-id"]));
  const timeId = schema.fields.find(({ name }) => name === "time")?.id ?? 1;
  return {
    "format-version": 2,
    "table-uuid": before?.["table-uuid"] ?? given.uuid,
    location: given.location,
    "last-sequence-number": sequence,
    "last-updated-ms": snapshot["timestamp-ms"],
    "last-column-id": lastColumnId,
    "current-schema-id": schema["schema-id"],
    schemas,
    "default-spec-id": 0,
    "partition-specs": [{ "spec-id": 0, fields: partitionFields(timeId) }],
    "last-partition-id": partitionFieldId,
    "default-sort-order-id": 0,
    "sort-orders": [{ "order-id": 0, fields: [] }],
    properties: { "schema.name-mapping.default": nameMapping(schema) },
    "current-snapshot-id": sequence,
    refs: { main: { "snapshot-id": sequence, type: "branch" } },
    snapshots,
    "snapshot-log": [
      ...(before?.["snapshot-log"] ?? []).filter((one) => retained.has(one["snapshot-id"])),
      { "snapshot-id": sequence, "timestamp-ms": snapshot["timestamp-ms"] },
    ],
    "metadata-log": [],
    statistics: [],
    "partition-statistics": [],
  };
}
