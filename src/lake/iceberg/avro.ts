/**
 * Avro files as Iceberg's manifests need them. A file is `Obj\1`, a map of metadata with the schema as JSON, 16 bytes that mark the end of
 * a block, and blocks: number of records, bytes, records, mark. Integers are zigzag varints; strings, bytes, arrays and maps begin with
 * their length; a union begins with the place of its branch. Schemas stay JSON: Iceberg keeps its field ids in them.
 */
import { randomBytes } from "node:crypto";

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
  const header: Buffer[] = [Buffer.from("Obj\u0001", "latin1")];
  const entries = Object.entries({
    ...metadata,
    "avro.schema": JSON.stringify(schema),
    "avro.codec": "null",
  });
  header.push(encodeLong(entries.length));
  for (const [key, value] of entries)
    header.push(sized(Buffer.from(key)), sized(Buffer.from(value)));
  const mark = randomBytes(16);
  const body: Buffer[] = [];
  for (const record of records) encodeValue(schema, record, body);
  const block = Buffer.concat(body);
  const blocks =
    records.length === 0 ? [] : [encodeLong(records.length), encodeLong(block.length), block, mark];
  return Buffer.concat([...header, encodeLong(0), mark, ...blocks]);
}

function encodeValue(schema: AvroSchema, value: AvroValue, into: Buffer[]): void {
  if (Array.isArray(schema)) {
    into.push(encodeLong(value === null ? 0 : 1));
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
    if (list.length > 0) into.push(encodeLong(list.length));
    for (const item of list) encodeValue(items, item, into);
    into.push(encodeLong(0));
    return;
  }
  if (type === "boolean") into.push(Buffer.from([value === true ? 1 : 0]));
  else if ((type === "int" || type === "long") && typeof value === "number")
    into.push(encodeLong(value));
  else if (type === "string" && typeof value === "string") into.push(sized(Buffer.from(value)));
  else if (type === "bytes" && value instanceof Uint8Array) into.push(sized(value));
  else throw new Error(`BUG: ${JSON.stringify(value)} is no Avro ${type}`);
}

const sized = (bytes: Uint8Array): Buffer => Buffer.concat([encodeLong(bytes.length), bytes]);

function encodeLong(value: number): Buffer {
  let left = BigInt.asUintN(64, (BigInt(value) << 1n) ^ (BigInt(value) >> 63n));
  const bytes: number[] = [];
  while (left > 0x7fn) {
    bytes.push(Number(left & 0x7fn) | 0x80);
    left >>= 7n;
  }
  return Buffer.from([...bytes, Number(left)]);
}
