import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makePrivateFolder } from "./private-folder.ts";

let dir = "";
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-private-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));
const modeOf = (...names: string[]): string =>
  (statSync(path.join(dir, ...names)).mode & 0o777).toString(8);

test.skipIf(process.platform === "win32")(
  "what an earlier version left open is closed, and what a link leads to stays as it is",
  () => {
    const data = path.join(dir, "data");
    mkdirSync(path.join(data, "wal"), { recursive: true });
    for (const file of ["data/wal/1", "outside"]) {
      writeFileSync(path.join(dir, file), "x");
      chmodSync(path.join(dir, file), 0o644);
    }
    chmodSync(data, 0o755);
    symlinkSync(path.join(dir, "outside"), path.join(data, "link"));
    makePrivateFolder(data);
    expect([modeOf("data"), modeOf("data", "wal"), modeOf("data", "wal", "1")]).toEqual([
      "700",
      "700",
      "600",
    ]);
    expect(modeOf("outside")).toBe("644");
  },
);

test.skipIf(process.platform === "win32")("a new folder is its owner's alone", () => {
  makePrivateFolder(path.join(dir, "a", "b"));
  expect([modeOf("a"), modeOf("a", "b")]).toEqual(["700", "700"]);
});
