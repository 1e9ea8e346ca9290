/** Disk failures while access is changed: acknowledged changes survive the next start, and the hub still starts. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import type * as Fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { closeAccess, openAccess } from "../../src/access/open.ts";
import { silentLog } from "../../src/base/log.ts";
import { faults } from "../store/faults.ts";

vi.mock("node:fs", async (original) =>
  (await import("../store/faults.ts")).faultyFs(() => original<typeof Fs>()),
);

const nowMs = Date.parse("2026-11-15T12:00:00Z");
const cost = { ln: 4, r: 8, p: 1 };
let dataDir = "";
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-attack-disk-"));
});
afterEach(() => {
  faults.rule = undefined;
  rmSync(dataDir, { recursive: true, force: true });
});
const open = () => openAccess({ dataDir, log: silentLog, random: randomBytes, cost });

test("a token that is revoked while the folder cannot be synced is revoked, and the next start is clean", () => {
  const state = open();
  const token = state.tokens
    .add({ name: "boss", scope: "admin" }, nowMs, randomBytes)
    .text.reveal();
  const folder = path.join(dataDir, "access");
  faults.rule = (operation, file) => (operation === "fsync" && file === folder ? "EIO" : undefined);
  state.tokens.revoke("boss", nowMs);
  expect(faults.failed).toBeGreaterThan(0);
  faults.rule = undefined;
  expect(state.tokens.judge(token, nowMs).ok).toBe(false);
  closeAccess(state);
  const after = open();
  expect(after.tokens.judge(token, nowMs).ok).toBe(false);
  closeAccess(after);
});
