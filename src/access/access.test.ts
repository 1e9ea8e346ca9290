/** Tests of tokens, credentials, sessions and failed attempts. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Secret } from "../net/http/secret.ts";
import { silentLog } from "../base/log.ts";
import { credentialsOf, influxCredentials } from "./credentials.ts";
import { FailedAttempts, freeAttempts, networkOf } from "./failures.ts";
import { allows } from "./scope.ts";
import { Sessions, defaultIdleMs as idleMs, defaultSessionMs as sessionMs } from "./sessions.ts";
import { looksLikeToken, findTokenProblem } from "./token.ts";
import { Tokens } from "./tokens.ts";

const nowMs = 1_790_000_000_000;
let dataDir = "";
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-access-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const open = (): Tokens => new Tokens({ dataDir, log: silentLog });
const add = (tokens: Tokens, name: string, more: { expiresMs?: number } = {}) =>
  tokens.add({ name, scope: "push", ...more }, nowMs, randomBytes);

const openSessions = (): Sessions => new Sessions({ dataDir, log: silentLog, random: randomBytes });
const someone = {
  holder: { kind: "token", id: "a" },
  name: "me",
  scope: "read",
} as const;

test.each([
  ["push", "push", true],
  ["push", "read", false],
  ["push", "admin", false],
  ["read", "read", true],
  ["read", "push", false],
  ["read", "admin", false],
  ["admin", "push", true],
  ["admin", "read", true],
  ["admin", "admin", true],
] as const)("a token of scope %s may do what needs %s: %s", (granted, needed, may) => {
  expect(allows(granted, needed)).toBe(may);
});

test("a token opens until it is revoked, and says why it does not", () => {
  const tokens = open();
  const { text, token } = add(tokens, "node-1");
  expect(tokens.judge(text.reveal(), nowMs)).toEqual({ ok: true, token });
  tokens.revoke("node-1", nowMs + 5);
  expect(tokens.judge(text.reveal(), nowMs + 5)).toMatchObject({ ok: false, why: "revoked" });
  expect(tokens.stillGood(token.id, nowMs + 5)).toBe(false);
});

test("a token ends at its expiry, to the millisecond", () => {
  const tokens = open();
  const { text } = add(tokens, "node-1", { expiresMs: nowMs + 1_000 });
  expect(tokens.judge(text.reveal(), nowMs + 999).ok).toBe(true);
  expect(tokens.judge(text.reveal(), nowMs + 1_000)).toMatchObject({ ok: false, why: "expired" });
});

test("a token that differs in any character is unknown", () => {
  const tokens = open();
  const text = add(tokens, "node-1").text.reveal();
  for (let at = 0; at < text.length; at++) {
    const other = text.slice(0, at) + (text[at] === "x" ? "y" : "x") + text.slice(at + 1);
    expect(tokens.judge(other, nowMs)).toEqual({ ok: false, why: "unknown" });
  }
  for (const other of ["", text.slice(0, -1), `${text}x`, `${text}\n`, " ".repeat(54)])
    expect(tokens.judge(other, nowMs)).toEqual({ ok: false, why: "unknown" });
});

test("the text of a token is in no file and shows itself nowhere", () => {
  const tokens = open();
  const { text, token } = add(tokens, "node-1");
  expect(looksLikeToken(text.reveal())).toBe(true);
  const files = ["tokens.state", "token-use.state"].map((name) =>
    readFileSync(path.join(dataDir, "access", name), "latin1"),
  );
  const shown = [...files, inspect(text), JSON.stringify({ text }), String(text), inspect(token)];
  const secret = text.reveal().split("_").slice(2).join("_");
  expect(shown.filter((one) => one.includes(secret))).toEqual([]);
});

test("another process's tokens are there after a refresh, also its revocations", () => {
  const [hub, cli] = [open(), open()];
  const { text } = add(cli, "node-1");
  expect(hub.judge(text.reveal(), nowMs).ok).toBe(false);
  expect(hub.refresh()).toBe(true);
  expect(hub.judge(text.reveal(), nowMs).ok).toBe(true);
  cli.revoke("node-1", nowMs);
  expect(hub.refresh()).toBe(true);
  expect(hub.judge(text.reveal(), nowMs).ok).toBe(false);
});

test("a name is taken while its token is live, and free again after", () => {
  const tokens = open();
  const first = add(tokens, "node-1");
  expect(() => add(tokens, "node-1")).toThrow("There is a token named node-1 already");
  tokens.revoke(first.token.id, nowMs);
  add(tokens, "node-1");
  expect(tokens.list()).toHaveLength(2);
  expect(() => tokens.revoke("node-2", nowMs)).toThrow("There is no token node-2");
  tokens.revoke("node-1", nowMs);
  expect(() => tokens.revoke("node-1", nowMs)).toThrow("revoked already");
});

test("revoking a name ends the token that is live, not one of that name that has expired", () => {
  const tokens = open();
  add(tokens, "node-1", { expiresMs: nowMs + 1_000 });
  const later = nowMs + 2_000;
  const { text } = tokens.add({ name: "node-1", scope: "push" }, later, randomBytes);
  tokens.revoke("node-1", later);
  expect(tokens.judge(text.reveal(), later)).toMatchObject({ ok: false, why: "revoked" });
});

test("a hub whose tokens are all revoked does not count as one without", () => {
  const tokens = open();
  expect(tokens.any).toBe(false);
  add(tokens, "node-1");
  tokens.revoke("node-1", nowMs);
  expect([tokens.any, tokens.anyLive(nowMs)]).toEqual([true, false]);
});

test("long ended tokens are forgotten when another is made", () => {
  const tokens = open();
  add(tokens, "old");
  tokens.revoke("old", nowMs);
  tokens.add({ name: "new", scope: "read" }, nowMs + 91 * 86_400_000, randomBytes);
  tokens.add({ name: "newer", scope: "read" }, nowMs + 91 * 86_400_000, randomBytes);
  expect(tokens.list().map(({ name }) => name)).toEqual(["new", "newer"]);
});

test("the last use is kept for the other process, once a minute at most", () => {
  const [hub, cli] = [open(), open()];
  hub.noteUse("a", nowMs);
  hub.noteUse("a", nowMs + 59_999);
  cli.refresh();
  expect(cli.lastUsedMs("a")).toBe(nowMs);
  hub.noteUse("a", nowMs + 60_000);
  cli.refresh();
  expect(cli.lastUsedMs("a")).toBe(nowMs + 60_000);
});

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

test.each([
  ["Bearer abc", undefined, "abc"],
  ["bearer   abc ", undefined, "abc"],
  ["Token abc", undefined, "abc"],
  ["Token user:abc", "user", "abc"],
  [basic("user:abc"), "user", "abc"],
  [basic(":abc"), "", "abc"],
  [basic("user:a:b"), "user", "a:b"],
  [basic("abc"), undefined, "abc"],
  ["Basic !!!", undefined, ""],
  ["Negotiate abc", undefined, ""],
  ["Bearer", undefined, ""],
])("Authorization %j shows user %j and secret %j", (header, user, secret) => {
  const given = credentialsOf(header);
  expect([given?.user, given?.secret.reveal()]).toEqual([user, secret]);
});

test.each([undefined, ""])("Authorization %j shows nothing", (header) => {
  expect(credentialsOf(header)).toBeUndefined();
});

test("an Influx 1 client shows its password in the query", () => {
  const given = influxCredentials(new URLSearchParams("db=x&u=me&p=abc"));
  expect([given?.user, given?.secret.reveal()]).toEqual(["me", "abc"]);
  expect(influxCredentials(new URLSearchParams("db=x&u=me"))).toBeUndefined();
});

test("a session lasts its time and not longer, and ends when it is closed", () => {
  const sessions = openSessions();
  const name = sessions.open(someone, nowMs);
  for (let ms = nowMs; ms < nowMs + sessionMs; ms += 3_600_000)
    expect(sessions.find(name, ms)).toMatchObject(someone);
  expect(sessions.find(name, nowMs + sessionMs - 1)).toMatchObject(someone);
  expect(sessions.find(name, nowMs + sessionMs)).toBeUndefined();
  expect(sessions.find(`${name}x`, nowMs)).toBeUndefined();
  sessions.close(name);
  expect(sessions.find(name, nowMs)).toBeUndefined();
});

test("a session that nobody uses ends before its time, and one that is used does not", () => {
  const sessions = openSessions();
  const [left, used] = [sessions.open(someone, nowMs), sessions.open(someone, nowMs)];
  expect(sessions.find(used, nowMs + idleMs - 1)).toBeDefined();
  expect(sessions.find(left, nowMs + idleMs)).toBeUndefined();
  expect(sessions.find(used, nowMs + idleMs)).toBeDefined();
});

test("how long a session lasts, used and unused, can be said, and a shorter time holds for those that are open", () => {
  const before = openSessions();
  const [old, guest] = [
    before.open(someone, nowMs),
    before.open({ ...someone, holder: { kind: "share", id: "s" } }, nowMs, nowMs + sessionMs),
  ];
  before.shutdown();
  const sessions = new Sessions({
    dataDir,
    log: silentLog,
    random: randomBytes,
    sessionTimes: { lengthMs: 600_000, idleMs: 60_000 },
  });
  for (let ms = nowMs; ms < nowMs + 600_000; ms += 20_000)
    expect(sessions.find(old, ms)?.endsMs).toBe(nowMs + 600_000);
  expect(sessions.find(old, nowMs + 600_000)).toBeUndefined();
  expect(sessions.find(guest, nowMs + 600_000)?.endsMs).toBe(nowMs + sessionMs);
  const left = sessions.open(someone, nowMs);
  expect(sessions.find(left, nowMs + 60_000)).toBeUndefined();
});

test("sessions outlive the process, as digests, and end all at once on one account", () => {
  const before = openSessions();
  const value = before.open(someone, nowMs);
  const other = before.open({ ...someone, holder: { kind: "token", id: "b" } }, nowMs);
  before.shutdown();
  const file = readFileSync(path.join(dataDir, "access", "sessions.state"), "latin1");
  expect(file).not.toContain(value);
  const after = openSessions();
  expect(after.find(value, nowMs + 1)).toMatchObject(someone);
  after.closeAllOf(someone.holder);
  expect(after.find(value, nowMs + 1)).toBeUndefined();
  expect(after.find(other, nowMs + 1)).toBeDefined();
});

test("sessions are bounded: the oldest goes first, and shared links throw out no person", () => {
  const sessions = new Sessions({ dataDir, log: silentLog, random: randomBytes, maxSessions: 20 });
  const names = Array.from({ length: 21 }, () => sessions.open(someone, nowMs));
  expect(sessions.find(names[0] ?? "", nowMs)).toBeUndefined();
  expect(sessions.find(names[20] ?? "", nowMs)).toBeDefined();
  const guest = { ...someone, holder: { kind: "share", id: "s" } } as const;
  for (let count = 0; count < 21; count++) sessions.open(guest, nowMs);
  expect(sessions.find(names[1] ?? "", nowMs)).toBeDefined();
});

test("an address that failed too often waits out its minute; others do not", () => {
  const failures = new FailedAttempts();
  for (let count = 1; count <= freeAttempts; count++)
    expect(failures.add("10.0.0.1", nowMs + count)).toBe(count);
  expect(failures.waitMs("10.0.0.1", nowMs + 30_001)).toBe(30_000);
  expect(failures.waitMs("10.0.0.2", nowMs + 30_001)).toBe(0);
  expect(failures.waitMs("10.0.0.1", nowMs + 60_001)).toBe(0);
  expect(failures.add("10.0.0.1", nowMs + 60_001)).toBe(1);
});

test.each([
  ["10.0.0.1", "10.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0db8:1:2::9", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("%s is counted as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

const random = randomBytes(32).toString("base64url");
test.each([
  [`gpulse_push_${random}`, undefined],
  [`gpulse_read_${random}`, "is of another scope"],
  [`gpulse_push_${random.slice(1)}`, "is not in our form"],
  ["my own secret", "is not in our form"],
  [`gpulse_push_${"a".repeat(43)}`, "is not random enough"],
  [
    `gpulse_push_${Buffer.from("abcabcabcabcabcabcabcabcabcabcab").toString("base64url")}`,
    "is not random enough",
  ],
])("a token created elsewhere is looked at before it is taken: %s %s", (text, why) => {
  expect(findTokenProblem(text, "push")).toBe(why);
});

test("a token created elsewhere opens, and never a second time", () => {
  const tokens = open();
  const text = new Secret(`gpulse_push_${random}`);
  tokens.add({ name: "one", scope: "push" }, nowMs, randomBytes, text);
  expect(tokens.judge(text.reveal(), nowMs).ok).toBe(true);
  tokens.revoke("one", nowMs);
  expect(() => tokens.add({ name: "two", scope: "push" }, nowMs, randomBytes, text)).toThrow(
    "exists already",
  );
});
