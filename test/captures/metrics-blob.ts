// Writes gpu_metrics tables for tests: what is not given is all-ones, as the driver leaves it.

import { type Attribute, attributeTypeBytes, encodeAttribute } from "../../src/sources/amd/gpu-metrics/attributes.ts";
import { placeMembers } from "../../src/sources/amd/gpu-metrics/decode.ts";
import { type FieldName, metricsLayouts } from "../../src/sources/amd/gpu-metrics/layouts.ts";

export type BlobFields = Readonly<Partial<Record<FieldName, number | readonly number[]>>>;

export function metricsBlob(version: string, fields: BlobFields, sizeBytes?: number): Buffer {
  const layout = metricsLayouts.find(
    (candidate) =>
      candidate.version === version && (sizeBytes ?? candidate.sizeBytes) === candidate.sizeBytes,
  );
  if (layout === undefined) throw new Error(`BUG: no gpu_metrics layout ${version}`);
  const table = Buffer.alloc(layout.sizeBytes, 0xff);
  const [format = "0", content = "0"] = version.split(".");
  table.writeUInt16LE(layout.sizeBytes, 0);
  table.writeUInt8(Number(format), 2);
  table.writeUInt8(Number(content), 3);
  const written = new Map<FieldName, number>();
  for (const { member, offset } of placeMembers(layout.members).placed) {
    const [type, name, count = 1] = member;
    // A member that every partition has takes the next values of the list.
    const start = name === "" ? 0 : (written.get(name) ?? 0);
    const given = name === "" ? [] : [fields[name] ?? []].flat().slice(start, start + count);
    if (name !== "") written.set(name, start + count);
    const width = Number(type.slice(1)) / 8;
    given.forEach((value, index) => {
      writeUnsigned(table, value, offset + index * width, width);
    });
  }
  return table;
}

export interface AttributeValues extends Omit<Attribute, "instances"> {
  readonly values: readonly number[];
}

/** A table of version 1.9. */
export function attributesBlob(attributes: readonly AttributeValues[]): Buffer {
  const parts = attributes.map(({ values, ...attribute }) => {
    const width = attributeTypeBytes[attribute.type] ?? 1;
    const part = Buffer.alloc(8 + width * values.length);
    part.writeBigUInt64LE(encodeAttribute({ ...attribute, instances: values.length }), 0);
    values.forEach((value, index) => writeUnsigned(part, value, 8 + index * width, width));
    return part;
  });
  const header = Buffer.alloc(8);
  const table = Buffer.concat([header, ...parts]);
  table.writeUInt16LE(table.length, 0);
  table.writeUInt8(1, 2);
  table.writeUInt8(9, 3);
  table.writeInt32LE(attributes.length, 4);
  return table;
}

function writeUnsigned(table: Buffer, value: number, offset: number, width: number): void {
  if (width === 8) table.writeBigUInt64LE(BigInt(value), offset);
  else table.writeUIntLE(value, offset, width);
}
