/** Small run files that claim or hold huge amounts of data: refused by their claims, and stopped if they expand beyond them. */
import { deflateRawSync } from "node:zlib";
import { zipSync } from "fflate";
import { expect, test } from "vitest";
import { openArchive } from "./archive.ts";
import { readTrace, writeTrace } from "./trace.ts";
import { unzip } from "./unzip.ts";

const mebibyte = 1024 * 1024;
const limits = { totalBytes: mebibyte, entryBytes: () => mebibyte, isWanted: () => true };

/** A zip whose directory announces this size for its first entry. */
function claiming(zip: Uint8Array, bytes: number): Uint8Array {
  const changed = Buffer.from(zip);
  changed.writeUInt32LE(bytes, changed.indexOf(Buffer.from("PK\u0001\u0002", "latin1")) + 24);
  return changed;
}
const zeros = zipSync({ "run.json": new Uint8Array(mebibyte) });

test("an entry is unpacked no further than it says, and must be as large", async () => {
  expect((await unzip(zeros, limits)).get("run.json")?.length).toBe(mebibyte);
  await expect(unzip(claiming(zeros, 10), limits)).rejects.toThrow(/larger than|Buffer/);
  await expect(unzip(claiming(zeros, mebibyte - 1), limits)).rejects.toThrow(/larger than|Buffer/);
  const stored = zipSync({ "run.json": [new Uint8Array(100), { level: 0 }] });
  await expect(unzip(claiming(stored, 10), limits)).rejects.toThrow("differs from its header");
});

test.each([
  ["an entry that says it is larger", claiming(zeros, mebibyte + 1), "at run.json"],
  [
    "entries that are larger together",
    zipSync({ a: new Uint8Array(mebibyte), b: Buffer.from("b") }),
    "at b",
  ],
  [
    "too many entries",
    zipSync(Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`${at}`, new Uint8Array()]))),
    "64 entries",
  ],
])("%s are not unpacked", async (_what, zip, says) => {
  await expect(unzip(zip, limits)).rejects.toThrow(says);
});

test("what is not wanted is not unpacked, and one name is there once", async () => {
  const two = zipSync({ a: new Uint8Array(2 * mebibyte), b: Buffer.from("b") });
  const files = await unzip(two, { ...limits, isWanted: (name) => name === "b" });
  expect([...files].map(([name, { length }]) => [name, length])).toEqual([
    ["a", 0],
    ["b", 1],
  ]);
  const twice = Buffer.from(two);
  for (
    let at = twice.indexOf("PK\u0001\u0002", 0, "latin1");
    at !== -1;
    at = twice.indexOf("PK\u0001\u0002", at + 1, "latin1")
  )
    twice.write("a", at + 46);
  await expect(unzip(twice, { ...limits, isWanted: () => false })).rejects.toThrow("twice");
});

test.each([0, 1, 21, 22, 40, 100])("half a zip of %i bytes is none", async (bytes) => {
  await expect(unzip(zeros.subarray(0, bytes), limits)).rejects.toThrow(/zip data|out of|outside/);
  await expect(unzip(zeros.subarray(zeros.length - bytes), limits)).rejects.toThrow(
    /zip data|out of|outside/,
  );
});

test("an archive beyond its bound is refused by name and bound, JSON by a smaller one", async () => {
  await expect(openArchive(claiming(zeros, 300 * mebibyte), "a", 256 * mebibyte)).rejects.toThrow(
    "256 MiB",
  );
  await expect(openArchive(claiming(zeros, 17 * mebibyte), "a")).rejects.toThrow("at run.json");
  const trace = zipSync({ "trace.parquet": deflateRawSync(Buffer.alloc(10)) });
  await expect(openArchive(claiming(trace, 2 ** 31), "a")).rejects.toThrow("at trace.parquet");
});

const gpu = {
  uuid: "GPU-0",
  index: 0,
  vendor: "amd",
  model: "x",
  simulated: true,
  host: "a",
} as const;
const rows = 100;
const trace = async (): Promise<Buffer> =>
  Buffer.from(
    await writeTrace(
      new Map([
        [
          gpu.uuid,
          {
            timeMs: Float64Array.from({ length: rows }, (_, at) => at),
            columns: new Map([["gpu_power_watts", new Float64Array(rows).fill(200)]]),
          },
        ],
      ]),
      [gpu],
    ),
  );
/** 100 in the encoding of Thrift and of a run, and the largest number of the same length. */
const hundred = [0xc8, 0x01];
const large = [0xfe, 0x7f];

test.each<[string, (bytes: Buffer) => void, string]>([
  [
    "a page says that it has more values",
    (b) => put(b, [0x15, ...hundred], [0x15, ...large]),
    "more values than rows",
  ],
  [
    "a run is longer than its page",
    (b) => put(b, [...hundred, 0x00], [...large, 0x00]),
    "run longer than its page",
  ],
  [
    "the footer is said to be long",
    (b) => void b.writeUInt32LE(0x7f_ff_ff_ff, b.length - 8),
    "footer is too long",
  ],
])("a trace is refused before it is read where %s", async (_what, change, says) => {
  const bytes = await trace();
  expect((await readTrace(bytes, "a")).get("GPU-0")?.timeMs).toHaveLength(rows);
  change(bytes);
  await expect(readTrace(bytes, "a")).rejects.toThrow(says);
});

test("a trace has its bounds of readings and of bytes", async () => {
  const bytes = await trace();
  const bound = { cells: 10 * rows, bytes: mebibyte };
  await expect(readTrace(bytes, "a", bound)).resolves.toHaveProperty("size", 1);
  await expect(readTrace(bytes, "a", { ...bound, cells: 100 })).rejects.toThrow("100 readings");
  await expect(readTrace(bytes, "a", { ...bound, bytes: 100 })).rejects.toThrow("unpacks to more");
});

function put(bytes: Buffer, from: readonly number[], to: readonly number[]): void {
  const at = bytes.indexOf(Buffer.from(from));
  if (at === -1) throw new Error("BUG: the trace is not as it was when this was written");
  Buffer.from(to).copy(bytes, at);
}
