/** Checks that other accounts of the machine can read nothing in a data folder. */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../src/base/log.ts";
import { openStore } from "../../src/storage/embedded/store.ts";

test.skipIf(process.platform === "win32")("no file of the history is open to others", async () => {
  const parent = mkdtempSync(path.join(tmpdir(), "gpulse-attack-modes-"));
  const dir = path.join(parent, "data");
  const store = await openStore({
    dir,
    log: silentLog,
    nowMs: Date.now,
    retentionMs: 86_400_000,
    memoryBytes: 64 * 2 ** 20,
    durability: "process",
  });
  try {
    // The lock's socket holds no data.
    const open = ["", ...readdirSync(dir, { recursive: true }).map(String)].filter((name) => {
      const found = statSync(path.join(dir, name));
      return !found.isSocket() && (found.mode & 0o077) !== 0;
    });
    expect(open).toEqual([]);
  } finally {
    await store.close();
    rmSync(parent, { recursive: true, force: true });
  }
});
