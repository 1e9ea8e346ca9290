import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { readPassword } from "./read-password.ts";

/** A terminal with only the features needed to read a password. */
function terminal(isTTY: boolean, raw: boolean[] = []) {
  const stdin = Object.assign(new PassThrough(), {
    isTTY,
    setRawMode: (on: boolean) => void raw.push(on),
  });
  const stderr = new PassThrough();
  return { stdin: stdin as unknown as NodeJS.ReadStream & PassThrough, stderr };
}

/** Types a line once the prompt is shown. */
async function type(at: ReturnType<typeof terminal>, question: string, keys: string) {
  await expect.poll(() => String(at.stderr.read() ?? "")).toContain(question);
  at.stdin.write(keys);
}

test("on a terminal the password is asked for twice without echo, and a typo can be corrected", async () => {
  const raw: boolean[] = [];
  const at = terminal(true, raw);
  const read = readPassword(undefined, "ada", at);
  await type(at, "Password of ada: ", "correct hoo\u007frse\r");
  await type(at, "Repeat the password: ", "correct horse\n");
  expect(await read).toBe("correct horse");
  expect(raw).toEqual([true, false, true, false]);
  expect(String(at.stderr.read())).not.toContain("horse");
});

test("two that differ are refused, and an interrupt changes nothing", async () => {
  const at = terminal(true);
  const said = (): Promise<string> =>
    readPassword(undefined, "ada", at).then(
      () => "read",
      (thrown: unknown) => String(thrown),
    );
  const first = said();
  await type(at, "Password", "one of them\r");
  await type(at, "Repeat", "another one\r");
  expect(await first).toContain("differ");
  const second = said();
  await type(at, "Password", "half\u0003");
  expect(await second).toContain("Nothing was changed");
});

test("without a terminal it is the first line of standard input, or of a file", async () => {
  const at = terminal(false);
  at.stdin.end("from a pipe\nand more");
  expect(await readPassword(undefined, "ada", at)).toBe("from a pipe");
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-password-"));
  try {
    const file = path.join(folder, "password");
    writeFileSync(file, "from a file\r\n");
    expect(await readPassword(`file:${file}`, "ada", terminal(false))).toBe("from a file");
    await expect(readPassword("file:/nowhere/at/all", "ada", at)).rejects.toThrow("ENOENT");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("on the command line it is refused, and not repeated", async () => {
  const refused = readPassword("hunter2hunter2", "ada", terminal(false));
  await expect(refused).rejects.toThrow("takes file:PATH");
  await expect(refused).rejects.not.toThrow("hunter2");
});
