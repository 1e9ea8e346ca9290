import { expect, test } from "vitest";
import { seededRandom } from "../../../test/fuzz/mutate.ts";
import { AvroError, compileAvroReader } from "./read.ts";
import { AvroWriter } from "./writer.ts";

const bytesOf = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes);
const read = (schema: unknown, bytes: Uint8Array): unknown =>
  compileAvroReader(JSON.stringify(schema))(bytes);

// The specification's own examples of integers, a string, a record, an array and a union.
test.each([
  ["long", [0x00], 0],
  ["long", [0x01], -1],
  ["long", [0x04], 2],
  ["long", [0x7f], -64],
  ["long", [0x80, 0x01], 64],
  ["string", [0x06, 0x66, 0x6f, 0x6f], "foo"],
  [
    {
      type: "record",
      name: "test",
      fields: [
        { name: "a", type: "long" },
        { name: "b", type: "string" },
      ],
    },
    [0x36, 0x06, 0x66, 0x6f, 0x6f],
    { a: 27, b: "foo" },
  ],
  [{ type: "array", items: "long" }, [0x04, 0x06, 0x36, 0x00], [3, 27]],
  [{ type: "array", items: "long" }, [0x03, 0x04, 0x06, 0x36, 0x00], [3, 27]],
  [["null", "string"], [0x02, 0x02, 0x61], "a"],
  [{ type: "map", values: "boolean" }, [0x02, 0x02, 0x61, 0x01, 0x00], { a: true }],
  [{ type: "enum", name: "E", symbols: ["a", "b"] }, [0x02], "b"],
  [{ type: "long", logicalType: "timestamp-micros" }, [0xd0, 0x0f], 1],
] as const)("%j of %j is %j", (schema, bytes, value) => {
  expect(read(schema, bytesOf(...bytes))).toEqual(value);
});

test("numbers, text and doubles come back as they were written, also beyond 32 bits", () => {
  const longs = [0, -1, 63, 64, -65, 2 ** 31, -(2 ** 31) - 1, 1_767_225_600_000, -(2 ** 52)];
  const writer = new AvroWriter();
  writer.long(longs.length);
  for (const value of longs) writer.long(value);
  writer.long(0);
  expect(read({ type: "array", items: "long" }, writer.finish())).toEqual(longs);
  writer.text("é".repeat(5_000));
  expect(read("string", writer.finish())).toBe("é".repeat(5_000));
  writer.double(-1.5e300);
  expect(read("double", writer.finish())).toBe(-1.5e300);
  expect(() => writer.long(2 ** 53)).toThrow("BUG:");
});

test("a type within a namespace is found by its short and its whole name", () => {
  const schema = {
    type: "record",
    name: "a.b.List",
    fields: [
      { name: "value", type: { type: "fixed", name: "Two", size: 2 } },
      { name: "next", type: ["null", "List"] },
      { name: "other", type: ["null", "a.b.Two"] },
    ],
  };
  expect(read(schema, bytesOf(1, 2, 0, 2, 3, 4))).toEqual({
    value: Buffer.from([1, 2]),
    next: null,
    other: Buffer.from([3, 4]),
  });
});

const list = { type: "record", name: "L", fields: [{ name: "next", type: ["null", "L"] }] };
test.each([
  ["a length beyond the end", "string", [0x7e, 0x61], "ends too early"],
  ["a negative length", "string", [0x01], "ends too early"],
  ["a varint without an end", "long", Array<number>(11).fill(0x80), "longer than 10 bytes"],
  ["bytes behind the value", "long", [0, 0], "bytes are left"],
  ["a branch that is not there", ["null"], [0x02], "no such branch"],
  ["a symbol that is not there", { type: "enum", name: "E", symbols: [] }, [0], "no such symbol"],
  [
    "millions of items without a byte",
    { type: "array", items: "null" },
    [0x80, 0x80, 0x80, 0x02, 0],
    "more items than bytes",
  ],
  ["a list that is too deep", list, Array<number>(100).fill(2), "levels deep"],
] as const)("%s is refused in a sentence", (_, schema, bytes, says) => {
  expect(() => read(schema, bytesOf(...bytes))).toThrow(says);
});

test.each([
  ["{", "not valid JSON"],
  ['"nothing"', "no type nothing"],
  ['"toString"', "no type toString"],
  ["null", "a type is missing"],
  ['{"type":"record","name":"A"}', "no fields"],
  ['{"type":"fixed","name":"A","size":-1}', "no size"],
  [`${"[".repeat(200)}"null"${"]".repeat(200)}`, "levels deep"],
] as const)("the schema %s is refused", (schema, says) => {
  expect(() => compileAvroReader(schema)).toThrow(says);
});

test("no bytes bring a reader to anything but a value or a sentence", () => {
  const random = seededRandom(31);
  const schema = {
    type: "record",
    name: "R",
    fields: [
      { name: "map", type: { type: "map", values: { type: "array", items: "string" } } },
      { name: "next", type: ["null", "R"] },
      { name: "number", type: "double" },
    ],
  };
  const decode = compileAvroReader(JSON.stringify(schema));
  for (let round = 0; round < 20_000; round++) {
    const bytes = Uint8Array.from({ length: Math.floor(random() * 40) }, () => random() * 256);
    try {
      decode(bytes);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(AvroError);
    }
  }
});
