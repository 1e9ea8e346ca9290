/** Tests of the audit log: what it records, what it survives and what it never contains. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../base/log.ts";
import { AuditLog, type AuditNote } from "./audit.ts";

const startMs = Date.parse("2026-11-15T12:00:00Z");
let nowMs = startMs;
let dataDir = "";
let lines: string[] = [];
beforeEach(() => {
  nowMs = startMs;
  lines = [];
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-audit-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const log = createLog({
  level: "info",
  json: false,
  colour: false,
  nowMs: () => nowMs,
  write: (line) => lines.push(line),
});
const open = (maxFileBytes?: number): AuditLog =>
  new AuditLog({
    dataDir,
    log,
    nowMs: () => nowMs,
    ...(maxFileBytes === undefined ? {} : { maxFileBytes }),
  });
const file = (): string => path.join(dataDir, "access", "audit.jsonl");
const made = (target: string): AuditNote => ({
  who: "owner",
  by: "token",
  address: "10.0.0.7",
  what: "POST /api/tokens",
  target,
  outcome: "done",
  status: 201,
});
const targets = (audit: AuditLog, limit = 100, beforeMs?: number) =>
  audit.tail(limit, beforeMs).map(({ target }) => target);

test("notes come back newest first, from any process, and can be paged through", () => {
  const [hub, cli] = [open(), open()];
  expect(hub.tail(10)).toEqual([]);
  hub.note(made("a"));
  nowMs += 1_000;
  cli.note({ who: "root", by: "cli", what: "token revoke", target: "b", outcome: "done" });
  nowMs += 1_000;
  hub.note(made("c"));
  expect(targets(open())).toEqual(["c", "b", "a"]);
  expect(targets(hub, 2)).toEqual(["c", "b"]);
  expect(targets(hub, 2, startMs + 1_000)).toEqual(["a"]);
  expect(hub.tail(10)[2]).toEqual({ time: "2026-11-15T12:00:00.000Z", ...made("a") });
});

test("only its owner can read the file", () => {
  open().note(made("a"));
  expect(statSync(file()).mode & 0o077).toBe(0);
});

test("a line that was torn by a crash costs that line alone", () => {
  const audit = open();
  audit.note(made("a"));
  appendFileSync(file(), '{"time":"2026-11-15T12:00:0');
  audit.note(made("b"));
  appendFileSync(file(), 'nonsense\n{"who":1}\n');
  expect(targets(open())).toEqual(["b", "a"]);
});

test("files are bounded: the newest stay, the oldest go", () => {
  const audit = open(2_000);
  for (let count = 0; count < 200; count++) audit.note(made(`n${count}`));
  const files = readdirSync(path.join(dataDir, "access")).sort();
  expect(files.filter((name) => name !== "audit.jsonl")).toEqual([
    "audit.1.jsonl",
    "audit.2.jsonl",
    "audit.3.jsonl",
  ]);
  const bytes = files.map((name) => statSync(path.join(dataDir, "access", name)).size);
  expect(Math.max(...bytes)).toBeLessThan(2_500);
  const kept = targets(audit, 1_000);
  expect(kept.slice(0, 3)).toEqual(["n199", "n198", "n197"]);
  expect(kept.length).toBeLessThan(200);
});

test("a disk that refuses is reported once, and once more when it takes notes again", () => {
  writeFileSync(path.join(dataDir, "access"), "no folder");
  const audit = open();
  audit.note(made("a"));
  audit.note(made("b"));
  expect(audit.refusedByDisk).toBe(2);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("write failed");
  rmSync(path.join(dataDir, "access"));
  audit.note(made("c"));
  expect(lines[1]).toContain("writable again lost=2");
  expect(targets(audit)).toEqual(["c"]);
});

test("a closed log takes nothing", () => {
  const audit = open();
  audit.close();
  audit.note(made("a"));
  expect(open().tail(10)).toEqual([]);
});

const secret = "Zq7wX2mN8pK4vB6tR1sD9fG3hJ5kL0aEcUyIoPxQzWv";
test.each([
  `gpulse_admin_${secret}`,
  `gpulse_share_${secret}`,
  `https://me:${secret}@example.com/`,
  `https://${secret}@example.com/`,
  `Bearer ${secret}`,
  `authorization: basic ${secret}`,
])("%s leaves no secret in the file", (text) => {
  open().note({ who: text, by: "token", what: text, target: text, why: text, outcome: "refused" });
  expect(readFileSync(file(), "utf8")).not.toContain(secret);
});

test("a hostile name stays one bounded line", () => {
  mkdirSync(path.join(dataDir, "access"));
  const audit = open();
  audit.note(made(`x\n{"who":"forged"}\u001b[2J${"y".repeat(100_000)}`));
  const written = readFileSync(file(), "utf8");
  expect(written.split("\n")).toHaveLength(2);
  expect(written.length).toBeLessThan(1_000);
  expect(written).not.toContain("\u001b");
});
