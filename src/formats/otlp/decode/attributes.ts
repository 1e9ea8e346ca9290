/**
 * Decodes OTLP attributes from protobuf, with their values as label text.
 *
 *   KeyValue { key = 1; AnyValue value = 2 }
 *   AnyValue { string = 1; bool = 2; int64 = 3; double = 4; ArrayValue array = 5; KeyValueList kvlist = 6; bytes = 7 }
 *   ArrayValue { AnyValue values = 1 }     KeyValueList { KeyValue values = 1 }
 */
import type { ProtoReader } from "../../protobuf/reader.ts";
import { maxDepth, OtlpError } from "./model.ts";

type Plain =
  | string
  | number
  | boolean
  | null
  | readonly Plain[]
  | { readonly [key: string]: Plain };

export function readAttribute(reader: ProtoReader): readonly [key: string, value: string] {
  const [key, value] = readKeyValue(reader, 0);
  return [key, textOf(value)];
}

/** The collector's notation: strings as they are, everything else as JSON. */
export const textOf = (value: Plain): string =>
  typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);

function readKeyValue(reader: ProtoReader, depth: number): [string, Plain] {
  let key = "";
  let value: Plain = null;
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 2) key = reader.text();
    else if (reader.field === 2 && reader.wireType === 2) value = readAny(reader.message(), depth);
    else reader.skip();
  }
  return [key, value];
}

function readAny(reader: ProtoReader, depth: number): Plain {
  if (depth > maxDepth) throw new OtlpError("an attribute is nested too deep");
  let value: Plain = null;
  while (reader.next()) {
    const { field, wireType } = reader;
    if (field === 1 && wireType === 2) value = reader.text();
    else if (field === 2 && wireType === 0) value = reader.int64() !== 0;
    else if (field === 3 && wireType === 0) value = reader.int64();
    else if (field === 4 && wireType === 1) value = reader.double();
    else if (field === 5 && wireType === 2) value = readArray(reader.message(), depth + 1);
    else if (field === 6 && wireType === 2) value = readList(reader.message(), depth + 1);
    else if (field === 7 && wireType === 2) value = reader.base64();
    else reader.skip();
  }
  return value;
}

function readArray(reader: ProtoReader, depth: number): Plain {
  const values: Plain[] = [];
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 2) values.push(readAny(reader.message(), depth));
    else reader.skip();
  }
  return values;
}

function readList(reader: ProtoReader, depth: number): Plain {
  const entries: [string, Plain][] = [];
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 2)
      entries.push(readKeyValue(reader.message(), depth));
    else reader.skip();
  }
  return Object.fromEntries(entries);
}
