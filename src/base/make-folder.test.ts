import { existsSync, mkdtempSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { GpulseError, systemCode } from "./error.ts";
import { makeFolder, makeFolderSync } from "./make-folder.ts";

const root = mkdtempSync(path.join(tmpdir(), "gpulse-folder-"));
writeFileSync(path.join(root, "file"), "");
symlinkSync(path.join(root, "nowhere"), path.join(root, "dangling"));
const isRoot = process.getuid?.() === 0;

const variants = [makeFolder, async (folder: string) => makeFolderSync(folder)];

/** The error of both variants, which must be the same. */
async function failure(folder: string): Promise<GpulseError> {
  const errors: GpulseError[] = [];
  for (const create of variants)
    try {
      await create(folder);
    } catch (thrown) {
      if (!(thrown instanceof GpulseError)) throw thrown;
      errors.push(thrown);
    }
  const [first] = errors;
  if (first === undefined) throw new Error(`${folder} was created`);
  expect(errors.map(({ message }) => message)).toEqual([first.message, first.message]);
  return first;
}

test.for(["a", "b/c/d", "e/../f", "g//h/"])("creates %s with its parents, twice", async (name) => {
  for (const [index, create] of variants.entries()) {
    const folder = path.join(root, String(index), name);
    await create(folder);
    await create(folder);
    expect(statSync(folder).isDirectory()).toBe(true);
  }
});

test("gives every created folder the mode, and leaves one that exists as it is", async () => {
  await makeFolder(path.join(root, "open"));
  const before = statSync(path.join(root, "open")).mode;
  await makeFolder(path.join(root, "open", "x", "y"), { mode: 0o700 });
  expect(statSync(path.join(root, "open")).mode).toBe(before);
  expect(statSync(path.join(root, "open", "x")).mode & 0o777).toBe(0o700);
  expect(statSync(path.join(root, "open", "x", "y")).mode & 0o777).toBe(0o700);
});

test("a relative folder is created in the current one", async () => {
  const relative = path.relative(process.cwd(), path.join(root, "relative", "deep"));
  await makeFolder(relative);
  expect(existsSync(path.join(root, "relative", "deep"))).toBe(true);
});

test.runIf(process.platform === "linux").for([
  ["/proc/x", "ENOENT", "/proc does not accept new folders"],
  ["/proc/x/y/z", "ENOENT", "/proc does not accept new folders"],
  ["/proc/self/task/none/x", "ENOENT", "/proc/self/task does not accept new folders"],
])("%s fails with %s, and the message says why", async ([folder = "", code, why]) => {
  const error = await failure(folder);
  expect([error.code, systemCode(error)]).toEqual(["FOLDER_UNUSABLE", code]);
  expect(error.message).toBe(`Cannot create the folder ${folder}: ${why}. Choose another folder.`);
});

test.for([
  ["file", "EEXIST", "file is not a folder"],
  ["file/x", "EEXIST", "file is not a folder"],
  ["dangling", "EEXIST", "dangling is not a folder"],
])("%s where something else stands fails with %s", async ([name = "", code, why]) => {
  const error = await failure(path.join(root, name));
  expect(systemCode(error)).toBe(code);
  expect(error.message).toContain(why);
});

test("a folder this user may not create names the permissions", async (context) => {
  if (process.platform !== "linux") context.skip("the root folder is Linux's");
  if (isRoot) context.skip("root may write everywhere");
  expect((await failure("/gpulse-test")).message).toContain("Change the permissions");
});
