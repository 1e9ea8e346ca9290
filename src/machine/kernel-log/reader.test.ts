import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../base/log.ts";
import { checkAccess, explain, KernelLogReader, systemNow } from "./reader.ts";
import type { KmsgRecord } from "./record.ts";

let folder: string;
let file: string;
let stopping: AbortController;
let running: Promise<void>;
let records: KmsgRecord[];
let said: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-kmsg-"));
  file = path.join(folder, "kmsg");
  stopping = new AbortController();
  running = Promise.resolve();
  records = [];
  said = "";
});
afterEach(async () => {
  stopping.abort();
  await running;
  rmSync(folder, { recursive: true });
});

const patient = { timeout: 20_000, interval: 10 };
const texts = (): string[] => records.map(({ text }) => text);

function follow(at: string, sinceBoot = false): KernelLogReader {
  const log = createLog({
    level: "info",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (line) => void (said += line),
  });
  const reader = new KernelLogReader({
    path: at,
    sinceBoot,
    log,
    now: systemNow,
    onRecord: (record) => void records.push(record),
    pollMs: 5,
    retryMs: 20,
  });
  running = reader.run(stopping.signal);
  return reader;
}

test("what was there before the start is left out, what comes after is given in order", async () => {
  writeFileSync(file, "6,1,1,-;old\n SUBSYSTEM=pci\n6,2,2,-;older\n");
  const reader = follow(file);
  await expect.poll(() => reader.isReadable, patient).toBe(true);
  appendFileSync(file, "6,3,3,-;new\n DEVICE=+pci:0000:03:00.0\n6,4,4,-;ne");
  await expect.poll(texts, patient).toEqual(["new"]);
  appendFileSync(file, "wer\n6,5,5,c; still\n");
  await expect.poll(texts, patient).toEqual(["new", "newer still"]);
  expect(reader.lost).toBe(0);
});

test("since boot, everything the log still holds is given", async () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => `6,${index + 7},1,-;line ${index}\n`);
  writeFileSync(file, lines.join(""));
  const reader = follow(file, true);
  await expect.poll(() => records.length, patient).toBe(2_000);
  expect(texts().at(-1)).toBe("line 1999");
  expect(reader.lost).toBe(0);
});

test("records that were written over are counted by their sequence, and reported", async () => {
  writeFileSync(file, "6,10,1,-;a\n");
  const reader = follow(file);
  await expect.poll(() => reader.isReadable, patient).toBe(true);
  appendFileSync(file, "6,11,1,-;b\n6,20,1,-;c\n6,22,1,-;d\n");
  await expect.poll(texts, patient).toEqual(["b", "c", "d"]);
  expect(reader.lost).toBe(9);
  expect(said).toMatch(/were overwritten before they were read.*lost=9/);
});

test("a pipe is followed from one writer to the next", async () => {
  execFileSync("mkfifo", [file]);
  const reader = follow(file);
  await expect.poll(() => reader.isReadable, patient).toBe(true);
  for (const sequence of [1, 2]) {
    const fd = openSync(file, constants.O_WRONLY);
    writeSync(fd, `3,${sequence},1,-;NVRM: ${sequence}\n`);
    closeSync(fd);
    await expect.poll(() => records.length, patient).toBe(sequence);
  }
});

test("a log that is not there yet is said once with what to do, and read when it comes", async () => {
  const reader = follow(file, true);
  await expect.poll(() => said, patient).toContain("--device /dev/kmsg");
  expect(reader.isReadable).toBe(false);
  writeFileSync(file, "6,1,1,-;first\n");
  await expect.poll(texts, patient).toEqual(["first"]);
  expect(said.match(/is not readable/g)).toHaveLength(1);
  expect(said).toContain("is readable again");
});

test("what is there when it is asked to stop is still given", async () => {
  writeFileSync(file, "6,1,1,-;old\n");
  const reader = follow(file);
  await expect.poll(() => reader.isReadable, patient).toBe(true);
  appendFileSync(file, "6,2,1,-;last words\n");
  stopping.abort();
  await running;
  expect(texts()).toEqual(["last words"]);
});

test("a denied log says which right is missing", () => {
  const denied = explain("/dev/kmsg", Object.assign(new Error("no"), { code: "EPERM" }));
  expect(denied).toMatchObject({ state: "denied" });
  for (const word of ["CAP_SYSLOG", "adm", "kernel.dmesg_restrict"])
    expect(denied.fix).toContain(word);
  expect(checkAccess(path.join(folder, "none")).state).toBe("not-found");
});

test("the log of this kernel is read, each record once and in order", async ({ skip }) => {
  const { state, says } = checkAccess();
  if (state !== "found") skip(says);
  const reader = follow("/dev/kmsg", true);
  stopping.abort();
  await running;
  if (records.length === 0) skip(`the kernel's log is empty here ${said}`);
  const sequences = records.map(({ sequence }) => sequence);
  expect(sequences).toEqual([...new Set(sequences)].sort((left, right) => left - right));
  expect(records.every(({ level }) => level >= 0 && level < 8)).toBe(true);
  expect(reader.isReadable).toBe(false);
});
