/** What every place for files must do: one suite, run by folders here and by buckets and HDFS where real servers run. */
import { expect, test, type TestContext } from "vitest";
import type { FileStore } from "./store.ts";

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");

/** `open` may skip a test where its server cannot be had. */
export function fileStoreConformance(open: (context: TestContext) => Promise<FileStore>): void {
  const withFiles = async (
    context: TestContext,
    work: (files: FileStore) => Promise<void>,
  ): Promise<void> => {
    const files = await open(context);
    try {
      await work(files);
    } finally {
      files.close();
    }
  };

  test("what is written is listed with its size and read back whole or in part", (context) =>
    withFiles(context, async (files) => {
      await files.write("a/date=2026-01-02/one two.parquet", Buffer.from("hello world"));
      await files.write("a/date=2026-01-01/x", Buffer.from("x"));
      await files.write("b/y", new Uint8Array());
      const listed = (await files.list("a/")).map(({ path, bytes }) => [path, bytes]);
      expect(listed).toEqual([
        ["a/date=2026-01-01/x", 1],
        ["a/date=2026-01-02/one two.parquet", 11],
      ]);
      expect((await files.list("a/date=2026-01-0")).length).toBe(2);
      const path = "a/date=2026-01-02/one two.parquet";
      expect(text(await files.read(path))).toBe("hello world");
      expect(text(await files.read(path, { start: 6, end: 9 }))).toBe("wor");
    }));

  test("a file of the same name is replaced, and one that is removed is gone", (context) =>
    withFiles(context, async (files) => {
      await files.write("again", Buffer.from("first"));
      await files.write("again", Buffer.from("second"));
      expect(text(await files.read("again"))).toBe("second");
      await files.remove("again");
      await files.remove("again");
      expect(await files.list("again")).toEqual([]);
      await expect(files.read("again")).rejects.toMatchObject({
        code: "FILES_MISSING",
        retryable: false,
      });
    }));

  test("where nothing was written nothing is listed, and what is written aside never is", (context) =>
    withFiles(context, async (files) => {
      expect(await files.list("nothing/here/")).toEqual([]);
      await files.write("kept", Buffer.from("1"));
      expect((await files.list("")).every(({ path }) => !path.includes("_temporary"))).toBe(true);
    }));

  test("a file of some megabytes comes back bit for bit", (context) =>
    withFiles(context, async (files) => {
      const bytes = Buffer.alloc(5_000_000);
      for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 7919) % 251;
      await files.write("large", bytes);
      expect(Buffer.compare(await files.read("large"), bytes)).toBe(0);
    }));
}
