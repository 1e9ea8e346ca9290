/** The lake's tables as Iceberg schemas: permanent field ids per column, and the Avro schemas of the manifests. */
import type { ColumnKind, ColumnSpec } from "../table.ts";
import type { AvroField, AvroRecord, AvroSchema } from "./avro.ts";

export interface IcebergField {
  readonly id: number;
  readonly name: string;
  readonly required: boolean;
  readonly type: string;
}

export interface IcebergSchema {
  readonly type: "struct";
  readonly "schema-id": number;
  readonly fields: readonly IcebergField[];
}

const types: Readonly<Record<ColumnKind, string>> = {
  time: "timestamptz",
  text: "string",
  number: "double",
  integer: "int",
  boolean: "boolean",
};

/**
 * Returns the newest schema of `before` if it has all columns, else a new one: a column keeps its id, a new column gets the next
 * id.
 */
export function evolveSchema(
  before: readonly IcebergSchema[],
  lastColumnId: number,
  columns: readonly ColumnSpec[],
): { readonly schema: IcebergSchema; readonly lastColumnId: number } {
  const current = before.at(-1);
  const known = current?.fields ?? [];
  const names = new Set(known.map(({ name }) => name));
  const added = columns.filter(({ name }) => !names.has(name));
  if (current !== undefined && added.length === 0) return { schema: current, lastColumnId };
  let last = lastColumnId;
  const fields = [
    ...known,
    ...added.map(({ name, kind, required = false }) => ({
      id: ++last,
      name,
      // A column that is added later is null in older files.
      required: required && current === undefined,
      type: types[kind],
    })),
  ];
  const schema: IcebergSchema = {
    type: "struct",
    "schema-id": (current?.["schema-id"] ?? -1) + 1,
    fields,
  };
  return { schema, lastColumnId: last };
}

/** The lake's files contain names and no field ids: readers map columns by this. */
export const nameMapping = ({ fields }: IcebergSchema): string =>
  JSON.stringify(fields.map(({ id, name }) => ({ "field-id": id, names: [name] })));

export const partitionFieldId = 1_000;

export const partitionFields = (timeId: number) => [
  { name: "time_day", transform: "day", "source-id": timeId, "field-id": partitionFieldId },
];

const field = (id: number, name: string, type: AvroSchema): AvroField => ({
  name,
  type,
  "field-id": id,
  ...(Array.isArray(type) && { default: null }),
});
const optional = (type: AvroSchema): readonly ["null", AvroSchema] => ["null", type];

/** Avro maps have text keys: Iceberg writes maps by field id as arrays of pairs. */
const boundsMap = (key: number, value: number): AvroSchema =>
  optional({
    type: "array",
    logicalType: "map",
    items: {
      type: "record",
      name: `k${key}_v${value}`,
      fields: [field(key, "key", "int"), field(value, "value", "bytes")],
    },
  });

export const manifestEntrySchema: AvroRecord = {
  type: "record",
  name: "manifest_entry",
  fields: [
    field(0, "status", "int"),
    field(1, "snapshot_id", optional("long")),
    field(3, "sequence_number", optional("long")),
    field(4, "file_sequence_number", optional("long")),
    field(2, "data_file", {
      type: "record",
      name: "r2",
      fields: [
        field(134, "content", "int"),
        field(100, "file_path", "string"),
        field(101, "file_format", "string"),
        field(102, "partition", {
          type: "record",
          name: "r102",
          fields: [
            field(partitionFieldId, "time_day", optional({ type: "int", logicalType: "date" })),
          ],
        }),
        field(103, "record_count", "long"),
        field(104, "file_size_in_bytes", "long"),
        field(125, "lower_bounds", boundsMap(126, 127)),
        field(128, "upper_bounds", boundsMap(129, 130)),
      ],
    }),
  ],
};

export const manifestListSchema: AvroRecord = {
  type: "record",
  name: "manifest_file",
  fields: [
    field(500, "manifest_path", "string"),
    field(501, "manifest_length", "long"),
    field(502, "partition_spec_id", "int"),
    field(517, "content", "int"),
    field(515, "sequence_number", "long"),
    field(516, "min_sequence_number", "long"),
    field(503, "added_snapshot_id", "long"),
    field(504, "added_files_count", "int"),
    field(505, "existing_files_count", "int"),
    field(506, "deleted_files_count", "int"),
    field(512, "added_rows_count", "long"),
    field(513, "existing_rows_count", "long"),
    field(514, "deleted_rows_count", "long"),
    field(
      507,
      "partitions",
      optional({
        type: "array",
        "element-id": 508,
        items: {
          type: "record",
          name: "r508",
          fields: [
            field(509, "contains_null", "boolean"),
            field(518, "contains_nan", optional("boolean")),
            field(510, "lower_bound", optional("bytes")),
            field(511, "upper_bound", optional("bytes")),
          ],
        },
      }),
    ),
  ],
};
