import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { publishAddress, readAddress } from "./address.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-address-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a hub whose disk has no room for the address file warns and runs", () => {
  // A folder in place of the temporary file: opening it for writing fails.
  mkdirSync(path.join(folder, "address.tmp"), { recursive: true });
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const address = publishAddress(folder, "http://127.0.0.1:9410/", log);
  expect(warnings).toEqual([expect.stringContaining("address file not written")]);
  expect(readAddress(folder)).toBeUndefined();
  address.close();
});

test("a hub that starts again under its address leaves the file of the killed one", () => {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, "address");
  publishAddress(folder, "http://127.0.0.1:9410/", silentLog);
  const { ino } = statSync(file);
  publishAddress(folder, "http://127.0.0.1:9410/", silentLog);
  expect(statSync(file).ino).toBe(ino);
  const moved = publishAddress(folder, "http://127.0.0.1:9411/", silentLog);
  expect(readAddress(folder)).toBe("http://127.0.0.1:9411/");
  moved.close();
  expect(readAddress(folder)).toBeUndefined();
});
