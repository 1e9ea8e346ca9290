/**
 * Avro files for Iceberg's manifests. A file is `Obj\1`, a metadata map with the schema as JSON, a 16-byte sync marker, and
 * blocks: number of records, bytes, records, sync marker. Schemas stay JSON, since Iceberg stores its field ids in them.
 */
import { randomBytes } from "node:crypto";
import { AvroWriter } from "../../formats/avro/writer.ts";

export type AvroSchema =
  | "null"
  | "boolean"
  | "int"
  | "long"
  | "string"
  | "bytes"
  | { readonly type: "int"; readonly logicalType: string }
  | { readonly type: "array"; readonly items: AvroSchema; readonly [attribute: string]: unknown }
  | AvroRecord
  | readonly ["null", AvroSchema];

export interface AvroRecord {
  readonly type: "record";
  readonly name: string;
  readonly fields: readonly AvroField[];
}

export interface AvroField {
  readonly name: string;
  readonly type: AvroSchema;
  readonly "field-id": number;
  readonly default?: null;
}

export type AvroValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | readonly AvroValue[]
  | { readonly [field: string]: AvroValue };

export function encodeAvroFile(
  schema: AvroRecord,
  metadata: Readonly<Record<string, string>>,
  records: readonly AvroValue[],
): Buffer {
  const entries = Object.entries({
    ...metadata,
    "avro.schema": JSON.stringify(schema),
    "avro.codec": "null",
  });
  const body = new AvroWriter();
  for (const record of records) encodeValue(schema, record, body);
  const mark = randomBytes(16);
  const file = new AvroWriter();
  file.raw(Buffer.from("Obj\u0001", "latin1"));
  file.long(entries.length);
  for (const [key, value] of entries) {
    file.text(key);
    file.text(value);
  }
  file.long(0);
  file.raw(mark);
  if (records.length > 0) {
    file.long(records.length);
    file.bytes(body.finish());
    file.raw(mark);
  }
  return file.finish();
}

function encodeValue(schema: AvroSchema, value: AvroValue, into: AvroWriter): void {
  if (Array.isArray(schema)) {
    into.long(value === null ? 0 : 1);
    if (value !== null) encodeValue((schema as readonly ["null", AvroSchema])[1], value, into);
    return;
  }
  const type = typeof schema === "string" ? schema : (schema as { type: string }).type;
  if (type === "record") {
    for (const field of (schema as AvroRecord).fields)
      encodeValue(
        field.type,
        (value as Readonly<Record<string, AvroValue>>)[field.name] ?? null,
        into,
      );
    return;
  }
  if (type === "array") {
    const { items } = schema as { readonly items: AvroSchema };
    const list = value as readonly AvroValue[];
    if (list.length > 0) into.long(list.length);
    for (const item of list) encodeValue(items, item, into);
    into.long(0);
    return;
  }
  if (type === "boolean") into.bool(value === true);
  else if ((type === "int" || type === "long") && typeof value === "number") into.long(value);
  else if (type === "string" && typeof value === "string") into.text(value);
  else if (type === "bytes" && value instanceof Uint8Array) into.bytes(value);
  else throw new Error(`BUG: ${JSON.stringify(value)} is no Avro ${type}`);
}
