import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FileAccess, hostFileAccess } from "./file-access.ts";
import {
  listDir,
  parseNumber,
  readBytes,
  readLink,
  readNumber,
  readSensor,
  readText,
  resolvePath,
} from "./read.ts";
import { failed, unsupported } from "./read-result.ts";
import { traceFileAccess } from "../../../test/fixtures/machine/traced-files.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-sysfs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string | Buffer): string {
  const full = path.join(folder, name);
  writeFileSync(full, content);
  return full;
}

/** File access that fails every call with one system error. */
function failing(code: string): FileAccess {
  const reject = (): Promise<never> =>
    Promise.reject(Object.assign(new Error(`${code}: refused`), { code }));
  return { bytes: reject, list: reject, link: reject, resolve: reject };
}

test.each([
  ["ENOENT", "unsupported"],
  ["EOPNOTSUPP", "unsupported"],
  ["EINVAL", "unsupported"],
  ["EACCES", "denied"],
  ["EPERM", "denied"],
  ["EBUSY", "failed"],
  ["EIO", "failed"],
  ["ENODEV", "failed"],
  ["ETIMEDOUT", "failed"],
])("%s means %s, whichever way a file is read", async (code, reason) => {
  const fileAccess = failing(code);
  const absent = { ok: false, reason };
  expect(await readText("x", 16, fileAccess)).toEqual(absent);
  expect(await readNumber("x", fileAccess)).toEqual(absent);
  expect(await readBytes("x", 16, fileAccess)).toEqual(absent);
  expect(await listDir("x", fileAccess)).toEqual(absent);
  expect(await readLink("x", fileAccess)).toEqual(absent);
  expect(await resolvePath("x", fileAccess)).toEqual(absent);
});

test("text ends at the padding and loses its line break", async () => {
  const padded = Buffer.alloc(4_096);
  padded.write("16.0 GT/s PCIe\n");
  expect(await readText(file("padded", padded))).toEqual({ ok: true, value: "16.0 GT/s PCIe" });
});

test.each([
  ["42\n", 42],
  ["-273150", -273_150],
  ["0x1002\n", 4_098],
  ["18446744073709551615", 2 ** 64],
])("%j is the number %d", async (content, value) =>
  expect(await readNumber(file("number", content))).toEqual({ ok: true, value }),
);

test.each(["", "N/A", "1 2", "1.5", "Unknown", "0x", "9".repeat(21), "12W"])(
  "%j is no number",
  (content) => expect(parseNumber(content)).toEqual(failed),
);

test.each(["65535", "4294967295", "18446744073709551615", "0xffffffff", "-1"])(
  "a sensor of %s reports nothing",
  async (content) => expect(await readSensor(file("sensor", content))).toEqual(unsupported),
);

test("a file that never ends is read up to the bound", async () => {
  const reading = await readBytes("/dev/zero", 10_000);
  expect(reading.ok && reading.value.length).toBe(10_000);
});

test("a pipe nobody writes to does not hold the reader", async () => {
  const pipe = path.join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  expect(await readNumber(pipe)).toEqual(failed);
});

test("a real /proc file longer than a page comes whole", async () => {
  const reading = await readText("/proc/self/smaps", 1 << 20);
  expect(reading.ok && reading.value.length).toBeGreaterThan(8_192);
});

test("a folder is no file, a file is no folder, and a link reports where it points", async () => {
  mkdirSync(path.join(folder, "sub"));
  symlinkSync("sub", path.join(folder, "link"));
  expect(await readText(path.join(folder, "sub"))).toEqual({ ok: false, reason: "unsupported" });
  expect(await listDir(file("plain", "x"))).toEqual({ ok: false, reason: "unsupported" });
  expect(await readLink(path.join(folder, "link"))).toEqual({ ok: true, value: "sub" });
  expect(await listDir(path.join(folder, "link"))).toEqual({ ok: true, value: [] });
});

test("traced file access reports every path that was touched", async () => {
  const fileAccess = traceFileAccess(hostFileAccess);
  await readText(path.join(folder, "missing"), 16, fileAccess);
  await listDir(folder, fileAccess);
  expect(fileAccess.touched).toEqual([path.join(folder, "missing"), folder]);
});
