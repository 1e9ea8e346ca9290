/**
 * Reads Avro with any writer's schema: a record becomes an object, bytes stay bytes, times in milliseconds or microseconds become
 * milliseconds. Trusts neither schema nor bytes: both are bounded, and an error is one sentence.
 */

export class AvroError extends Error {}

export type AvroRead = (bytes: Uint8Array) => unknown;
type ReadValue = (input: Input) => unknown;

/** Maximum nesting of types in a schema and of values. */
const deepest = 64;

/** @throws AvroError if the text is not a schema, or has a type that Avro does not define */
export function compileAvroReader(schema: string): AvroRead {
  let parsed: unknown;
  try {
    parsed = JSON.parse(schema);
  } catch {
    throw new AvroError("the schema is not valid JSON");
  }
  const read = new Compiler().compile(parsed, "", 0);
  return (bytes) => {
    const input = new Input(bytes);
    const value = read(input);
    if (!input.isAtEnd()) throw new AvroError("bytes are left behind the last field");
    return value;
  };
}

class Input {
  readonly #bytes: Buffer;
  #at = 0;
  #depth = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(size: number): Buffer {
    if (size < 0 || size > this.#bytes.length - this.#at) throw new AvroError("it ends too early");
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  /** Exact up to 2^52; beyond that the nearest double. */
  long(): number {
    let [value, weight] = [0, 1];
    for (let count = 0; count < 10; count++) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw new AvroError("it ends too early");
      this.#at++;
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      weight *= 128;
    }
    throw new AvroError("a number is longer than 10 bytes");
  }

  /** Calls `read` for every item of an array or a map; the number of items is limited to the number of bytes. */
  items(read: () => void): void {
    let left = this.#bytes.length;
    for (let count = this.long(); count !== 0; count = this.long()) {
      // A negative item count: the size of the items in bytes follows, for readers that skip them.
      if (count < 0) this.long();
      const items = Math.abs(count);
      left -= items;
      if (left < 0) throw new AvroError("it has more items than bytes");
      for (let at = 0; at < items; at++) read();
    }
  }

  deeper<Value>(read: () => Value): Value {
    if (++this.#depth > deepest) throw new AvroError(`it is more than ${deepest} levels deep`);
    const value = read();
    this.#depth--;
    return value;
  }
}

const text = (input: Input): string => input.take(input.long()).toString("utf8");

const primitives: Readonly<Record<string, ReadValue>> = {
  null: () => null,
  boolean: (input) => input.take(1)[0] === 1,
  int: (input) => input.long(),
  long: (input) => input.long(),
  float: (input) => input.take(4).readFloatLE(),
  double: (input) => input.take(8).readDoubleLE(),
  bytes: (input) => Buffer.from(input.take(input.long())),
  string: text,
};

class Compiler {
  readonly #named = new Map<string, ReadValue>();

  compile(schema: unknown, space: string, depth: number): ReadValue {
    if (depth > deepest) throw new AvroError(`the schema is more than ${deepest} levels deep`);
    if (typeof schema === "string") return this.#byName(schema, space);
    if (Array.isArray(schema)) return this.#union(schema, space, depth);
    if (typeof schema !== "object" || schema === null) throw new AvroError("a type is missing");
    const type = "type" in schema ? schema.type : undefined;
    if (typeof type !== "string") return this.compile(type, space, depth + 1);
    const given = schema as Readonly<Record<string, unknown>>;
    if (type === "record" || type === "error") return this.#record(given, space, depth);
    if (type === "enum") return this.#enum(given, space);
    if (type === "fixed") {
      const size = wholeNumber(given["size"]);
      return this.#keep(given, space, (input) => Buffer.from(input.take(size)));
    }
    if (type === "array") {
      const read = this.compile(given["items"], space, depth + 1);
      return (input) => {
        const items: unknown[] = [];
        input.deeper(() => input.items(() => items.push(read(input))));
        return items;
      };
    }
    if (type === "map") {
      const read = this.compile(given["values"], space, depth + 1);
      return (input) => {
        const entries: (readonly [string, unknown])[] = [];
        input.deeper(() => input.items(() => entries.push([text(input), read(input)])));
        return Object.fromEntries(entries);
      };
    }
    const read = this.#byName(type, space);
    return given["logicalType"] === "timestamp-micros" && type === "long"
      ? (input) => input.long() / 1_000
      : read;
  }

  #byName(name: string, space: string): ReadValue {
    const primitive = Object.hasOwn(primitives, name) ? primitives[name] : undefined;
    if (primitive !== undefined) return primitive;
    const whole = name.includes(".") || space === "" ? name : `${space}.${name}`;
    const known = this.#named.get(whole) ?? this.#named.get(name);
    if (known === undefined) throw new AvroError(`the schema has no type ${name.slice(0, 100)}`);
    return known;
  }

  #union(branches: readonly unknown[], space: string, depth: number): ReadValue {
    const reads = branches.map((branch) => this.compile(branch, space, depth + 1));
    return (input) => {
      const read = reads[input.long()];
      if (read === undefined) throw new AvroError("a union has no such branch");
      return read(input);
    };
  }

  #record(given: Readonly<Record<string, unknown>>, space: string, depth: number): ReadValue {
    const fields: (readonly [name: string, read: ReadValue])[] = [];
    const read = this.#keep(given, space, (input) =>
      input.deeper(() => Object.fromEntries(fields.map(([name, one]) => [name, one(input)]))),
    );
    const inner = spaceOf(given, space);
    const listed: unknown = given["fields"];
    if (!Array.isArray(listed)) throw new AvroError("a record has no fields");
    for (const field of listed as readonly unknown[]) {
      if (typeof field !== "object" || field === null || !("name" in field && "type" in field))
        throw new AvroError("a field has no name or type");
      fields.push([nameOf({ name: field.name }), this.compile(field.type, inner, depth + 1)]);
    }
    return read;
  }

  #enum(given: Readonly<Record<string, unknown>>, space: string): ReadValue {
    const symbols: unknown = given["symbols"];
    if (!Array.isArray(symbols)) throw new AvroError("an enum has no symbols");
    return this.#keep(given, space, (input) => {
      const symbol: unknown = symbols[input.long()];
      if (symbol === undefined) throw new AvroError("an enum has no such symbol");
      return symbol;
    });
  }

  /** Registers a named type before its parts are compiled: it may refer to itself. */
  #keep(given: Readonly<Record<string, unknown>>, space: string, read: ReadValue): ReadValue {
    const name = nameOf(given);
    const inner = spaceOf(given, space);
    this.#named.set(name.includes(".") || inner === "" ? name : `${inner}.${name}`, read);
    return read;
  }
}

function nameOf({ name }: Readonly<Record<string, unknown>>): string {
  if (typeof name === "string" && name !== "") return name;
  throw new AvroError("a named type has no name");
}

function spaceOf(given: Readonly<Record<string, unknown>>, space: string): string {
  const name = nameOf(given);
  if (name.includes(".")) return name.slice(0, name.lastIndexOf("."));
  return typeof given["namespace"] === "string" ? given["namespace"] : space;
}

function wholeNumber(given: unknown): number {
  if (typeof given === "number" && Number.isInteger(given) && given >= 0) return given;
  throw new AvroError("a fixed type has no size");
}
