/** Pages that claim more values than they contain: rejected before the reader decodes them. */
import { expect, test } from "vitest";
import { LakeFileError, openBytes } from "./decode.ts";
import { encodeRows } from "./encode.ts";

const count = 12;
const text = (name: string, ...dictionary: readonly string[]) => ({
  name,
  dictionary,
  index: Int32Array.from({ length: count }, (_, at) => at % dictionary.length),
});
const file = Buffer.from(
  await encodeRows(
    {
      table: "series",
      count,
      times: Float64Array.from({ length: count }, (_, at) => 1_790_000_000_000 + at * 1_000),
      texts: [text("name", "a", "b"), text("labels", "{}"), text("uuid", "GPU-a", "GPU-b")],
      numbers: [
        {
          name: "value",
          values: Float64Array.from({ length: count }, (_, at) => at / 3),
          present: new Uint8Array(count).fill(1),
        },
      ],
    },
    { version: "1.2.3" },
  ),
);

const read = async (bytes: Buffer): Promise<number> =>
  (await openBytes(bytes, "f")).rows(0, count).then((rows) => rows.count);
const causeOf = (bytes: Buffer): Promise<unknown> =>
  read(bytes).then(
    () => "was read",
    (thrown: unknown) => {
      expect(thrown).toBeInstanceOf(LakeFileError);
      return thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause.message : "";
    },
  );

test("what our writer makes is read", async () => {
  expect(await read(file)).toBe(count);
});

test("a run of sixty values in a page of twelve is refused", async () => {
  // The value is there twelve times: the run's length, doubled, and the value.
  const at = file.indexOf(Buffer.of(2 * count, 1));
  expect(at).toBeGreaterThan(0);
  const harmed = Buffer.from(file);
  harmed[at] = 2 * 60;
  expect(await causeOf(harmed)).toBe("it has a run longer than its page");
});

test("whichever byte of its pages is harmed, it is read or refused, and never by a fault of another kind", async () => {
  const end = file.length - 8 - file.readUInt32LE(file.length - 8);
  for (let at = 4; at < end; at++)
    for (const value of [0x00, 0x7f, 0xff]) {
      const harmed = Buffer.from(file);
      harmed[at] = value;
      await causeOf(harmed);
    }
});
