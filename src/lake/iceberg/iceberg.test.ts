import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lakeOptions, origin, power, replaceIn } from "../../../test/fixtures/lake/frames.ts";
import { FolderFiles } from "../../net/objects/folder.ts";
import { type FileStore, FileStoreError } from "../../net/objects/store.ts";
import { listLake } from "../files.ts";
import { LakeManifest } from "../manifest.ts";
import { Upkeep } from "../upkeep.ts";
import { verifyLake } from "../verify.ts";
import { LakeWriter } from "../writer.ts";
import { encodeAvroFile } from "./avro.ts";
import { evolveSchema } from "./schema.ts";

const day = Date.UTC(2026, 0, 15);
const { signal } = new AbortController();
let folder = "";
let files: FileStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-iceberg-"));
  files = new FolderFiles(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const shared = (store: FileStore = files, nowMs = day) => {
  const options = lakeOptions(store, nowMs);
  return { ...options, manifest: new LakeManifest({ ...options, format: "iceberg" }) };
};

async function append(offsets: readonly number[], options = shared()): Promise<void> {
  const writer = new LakeWriter(options);
  for (const at of offsets) {
    await writer.take(power(day + at, at), origin(at), signal);
    await writer.flush(signal);
  }
}

interface Published {
  readonly snapshots: readonly { readonly summary: Readonly<Record<string, string>> }[];
  readonly [key: string]: unknown;
}

async function published(): Promise<Published> {
  const version = await readFile(join(folder, "gpu/metadata/version-hint.text"), "utf8");
  const text = await readFile(join(folder, `gpu/metadata/v${version}.metadata.json`), "utf8");
  return JSON.parse(text) as Published;
}
const totals = async (): Promise<string[]> =>
  (await published()).snapshots.map(({ summary }) => summary["total-records"] ?? "");

test("an Avro file has its schema, and its values as the format has them", () => {
  const file = encodeAvroFile(
    {
      type: "record",
      name: "r",
      fields: [
        { name: "a", type: "long", "field-id": 1 },
        { name: "b", type: ["null", "string"], "field-id": 2, default: null },
        { name: "c", type: { type: "array", items: "int" }, "field-id": 3 },
      ],
    },
    { key: "value" },
    [{ a: -65, b: "hi", c: [1, 300] }],
  );
  expect(file.toString("latin1")).toContain('"field-id":2');
  // One record of 11 bytes: -65 zigzag, branch 1, length 2 and "hi", two items, 1, 300, end of the array.
  const record = [0x81, 0x01, 0x02, 0x04, 0x68, 0x69, 0x04, 0x02, 0xd8, 0x04, 0x00];
  expect([...file.subarray(-16 - record.length - 2, -16)]).toEqual([2, 22, ...record]);
});

test("a column keeps its id when others come, and a new one gets an id that none had", () => {
  const time = { name: "time", kind: "time", required: true } as const;
  const first = evolveSchema([], 0, [time, { name: "a", kind: "number" }]);
  expect(evolveSchema([first.schema], first.lastColumnId, [time]).schema).toBe(first.schema);
  const second = evolveSchema([first.schema], first.lastColumnId, [
    time,
    { name: "b", kind: "text", required: true },
    { name: "a", kind: "number" },
  ]);
  expect(second.schema).toEqual({
    type: "struct",
    "schema-id": 1,
    fields: [
      { id: 1, name: "time", required: true, type: "timestamptz" },
      { id: 2, name: "a", required: false, type: "double" },
      { id: 3, name: "b", required: false, type: "string" },
    ],
  });
});

test("each commit is a snapshot with its Kafka offsets", async () => {
  await append([0, 1]);
  const { snapshots, location } = await published();
  expect(location).toBe(`file://${folder}/gpu`);
  expect(snapshots.map(({ summary }) => summary["gpulse.kafka-offsets"])).toEqual([
    '[{"log":"gpu-metrics","partition":0,"first":0,"last":0}]',
    '[{"log":"gpu-metrics","partition":0,"first":1,"last":1}]',
  ]);
  expect(await totals()).toEqual(["1", "2"]);
});

test("a merge keeps the replaced files for earlier snapshots, and they go when those expire", async () => {
  await append([0, 1, 2]);
  const before = (await files.list("gpu/data/")).map(({ path }) => path);
  await new Upkeep({ ...shared(), minFiles: 2 }).run(signal);
  expect((await files.list("gpu/data/")).map(({ path }) => path)).toEqual(
    expect.arrayContaining(before),
  );
  expect(await listLake(files, "gpu")).toHaveLength(1);
  expect(await totals()).toEqual(["1", "2", "3", "3"]);
  expect((await verifyLake(files)).problems).toEqual([]);
  const later = shared(files, day + 3 * 86_400_000);
  const manifest = new LakeManifest({ ...later, checkpointEvery: 1 });
  await append([3], { ...later, manifest });
  expect((await files.list("gpu/data/")).length).toBe(2);
  expect((await totals()).at(-1)).toBe("4");
  expect((await totals()).length).toBeLessThanOrEqual(2);
  expect((await verifyLake(files)).problems).toEqual([]);
});

test.each([0, 1, 2, 3, 4, 5, 6, 7])(
  "a commit that is killed after step %i is in the table whole or not at all, and the next writer catches up",
  async (steps) => {
    await append([0]);
    let left = steps;
    const step = (): void => {
      if (left-- <= 0) throw new FileStoreError("FILES_DENIED", "killed here");
    };
    const dying = replaceIn(files, {
      write: async (path, bytes) => (step(), files.write(path, bytes)),
      create: async (path, bytes) => (step(), files.create(path, bytes)),
      move: async (from, to) => (step(), files.move(from, to)),
    });
    await append([1], shared(dying)).catch(() => undefined);
    const seen = (await totals()).at(-1);
    expect(["1", "2"]).toContain(seen);
    await append([1, 2]);
    await new Upkeep(shared()).finish(signal);
    expect((await totals()).at(-1)).toBe("3");
    expect(await listLake(files, "gpu")).toHaveLength(3);
    expect((await verifyLake(files)).problems).toEqual([]);
  },
);

test("a lake of plain Parquet does not become an Iceberg table by an option", async () => {
  const { manifest: _, ...plain } = shared();
  await append([0], { ...plain, manifest: new LakeManifest(plain) });
  await expect(append([1])).rejects.toThrow(/is a lake of plain Parquet/);
});
