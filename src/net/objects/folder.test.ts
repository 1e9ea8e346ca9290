import { chmod, mkdtemp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fileStoreConformance } from "../../../test/fixtures/net/object-store-suite.ts";
import { openFiles } from "./open.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-files-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a folder", () => {
  fileStoreConformance(() => openFiles(join(folder, "made"), {}));
});

test("nothing half-written is left behind, and what another program left aside is not listed", async () => {
  const files = await openFiles(folder, {});
  await mkdir(join(folder, "_temporary"));
  await writeFile(join(folder, "_temporary", "half"), "");
  await files.write("a/b", Buffer.from("1"));
  expect((await files.list("")).map(({ path }) => path)).toEqual(["a/b"]);
  expect(await readdir(join(folder, "_temporary"))).toEqual(["half"]);
});

test("a folder that may not be written says so", async (context) => {
  if (process.getuid?.() === 0) context.skip("root may write everywhere");
  await chmod(folder, 0o500);
  const files = await openFiles(folder, {});
  await expect(files.write("a", Buffer.from("1"))).rejects.toMatchObject({ code: "FILES_DENIED" });
  await chmod(folder, 0o700);
});

test("a file in the place of the folder is distinguished from a broken disk", async () => {
  await writeFile(join(folder, "log.txt"), "");
  const files = await openFiles(join(folder, "log.txt"), {});
  await expect(files.list("_merges/")).rejects.toThrow(/choose another folder/);
  await expect(files.write("a/b", Buffer.from("1"))).rejects.toThrow(/choose another folder/);
});

test.each([
  ["gopher://x/y", /not a file location/],
  ["s3:///prefix", /names no bucket|is not an address/],
  ["s3://bucket/x?colour=red", /takes no option "colour"/],
  ["s3://me:secret@bucket/x", /carries no password/],
  ["webhdfs://host:9870/", /not an HDFS path/],
])("%s is refused with what to write instead", async (address, says) => {
  await expect(openFiles(address, {})).rejects.toThrow(says);
});

test("a server that does not answer is named, and may be tried again", async () => {
  const files = await openFiles("webhdfs://127.0.0.1:1/lake?user=me", {});
  await expect(files.list("")).rejects.toMatchObject({
    code: "FILES_UNREACHABLE",
    retryable: true,
  });
  files.close();
});
