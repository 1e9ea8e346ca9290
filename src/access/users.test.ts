/** Tests of password hashes, users, and failed logins. The hash cost is low here. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { LoginAttempts, freeAttemptsOfName } from "./attempts.ts";
import { freeAttempts } from "./failures.ts";
import { defaultScryptCost, isPasswordHash, Passwords, type ScryptCost } from "./password.ts";
import { Users } from "./users.ts";

const nowMs = 1_790_000_000_000;
const cheap: ScryptCost = { ln: 4, r: 8, p: 1 };
const secret = "correct horse battery";
let dataDir = "";
const opened: Users[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-users-"));
});
afterEach(() => {
  for (const users of opened.splice(0)) users.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function open(cost = cheap): Users {
  const users = new Users({ dataDir, log: silentLog, random: randomBytes, cost });
  opened.push(users);
  return users;
}

test("a password is kept as scrypt with its parameters, salted, and never as itself", async () => {
  const passwords = new Passwords(randomBytes, cheap);
  const [one, two] = [await passwords.hash(secret), await passwords.hash(secret)];
  expect(one).toMatch(/^scrypt\$ln=4,r=8,p=1\$[\w-]{22}\$[\w-]{43}$/);
  expect(one).not.toBe(two);
  expect(await passwords.matches(secret, one)).toBe(true);
  expect(await passwords.matches(`${secret} `, one)).toBe(false);
  expect(await passwords.matches(secret, undefined)).toBe(false);
  expect(defaultScryptCost).toEqual({ ln: 17, r: 8, p: 1 });
});

test("the usual parameters work on this machine", async () => {
  const passwords = new Passwords(randomBytes);
  const hash = await passwords.hash(secret);
  expect(await passwords.matches(secret, hash)).toBe(true);
});

test("the same letters typed another way are the same password", async () => {
  const passwords = new Passwords(randomBytes, cheap);
  const hash = await passwords.hash("motdepasse\u00e9t\u00e9");
  expect(await passwords.matches("motdepassee\u0301te\u0301", hash)).toBe(true);
});

test.each([
  ["scrypt$ln=17,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", true],
  [
    "scrypt$ln=30,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    false,
  ],
  [
    "scrypt$ln=17,r=99,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    false,
  ],
  ["$2b$10$reFTQ449Nam.bJOEmAvrAe.LzcBMqMcKqKqvyxLuNrA.jVoC0Ugs6", false],
  ["", false],
])("%s is a hash we would compute: %s", (text, is) => {
  expect(isPasswordHash(text)).toBe(is);
});

test("a flood of checks waits its turn, and past its bound is rejected", async () => {
  const users = open({ ln: 12, r: 8, p: 1 });
  await users.add({ name: "ada", role: "viewer", password: secret }, nowMs);
  const checks = await Promise.all(
    Array.from({ length: 60 }, (_, at) => users.check("ada", `wrong password ${at}`)),
  );
  const whys = checks.map((check) => (check.ok ? "ok" : check.why));
  expect(whys.filter((why) => why === "busy").length).toBe(60 - 2 - 32);
  expect((await users.check("ada", secret)).ok).toBe(true);
});

test.each([
  ["too short", "at least 10"],
  ["x".repeat(1_025), "at most 1024"],
  ["aaaaaaaaaaaaaa", "4 different"],
  ["ada-lovelace1", "more than the user's name"],
])("%.20s will not do as a password: %s", async (password, why) => {
  await expect(
    open().add({ name: "ada-lovelace", role: "viewer", password }, nowMs),
  ).rejects.toThrow(why);
});

test("a user is found by the right password, and wrong, unknown and disabled are the same", async () => {
  const users = open();
  await users.add({ name: "Ada", role: "admin", password: secret }, nowMs);
  expect(await users.check("ada", secret)).toMatchObject({ ok: true, user: { name: "Ada" } });
  const refused = { ok: false, why: "password" };
  expect(await users.check("ada", "something else")).toEqual(refused);
  expect(await users.check("grace", secret)).toEqual(refused);
  users.disable("ADA", nowMs);
  expect(await users.check("ada", secret)).toEqual(refused);
  expect(users.remembers("ada", secret)).toBeUndefined();
  users.enable("ada");
  expect((await users.check("ada", secret)).ok).toBe(true);
  await expect(users.add({ name: "ADA", role: "viewer", password: secret }, nowMs)).rejects.toThrow(
    "There is a user Ada already",
  );
});

test("what was right is remembered until the password is another", async () => {
  const users = open();
  await users.add({ name: "ada", role: "admin", password: secret }, nowMs);
  expect(users.remembers("ada", secret)).toBeUndefined();
  await users.check("ada", secret);
  expect(users.remembers("ada", secret)?.name).toBe("ada");
  await users.setPassword("ada", "another good one", nowMs);
  expect(users.remembers("ada", secret)).toBeUndefined();
  expect((await users.check("ada", secret)).ok).toBe(false);
  expect((await users.check("ada", "another good one")).ok).toBe(true);
});

test("a weaker hash is made again at the next login, and ends no session", async () => {
  const before = open();
  const { generation } = await before.add({ name: "ada", role: "admin", password: secret }, nowMs);
  before.close();
  const users = open({ ln: 6, r: 8, p: 1 });
  expect((await users.check("ada", secret)).ok).toBe(true);
  expect(users.get("ada")?.hash).toContain("ln=6");
  expect(users.stillGood("ada", generation)).toBe(true);
  expect((await users.check("ada", secret)).ok).toBe(true);
});

test("sessions end with a new password, another role, disabling, removing and when asked to", async () => {
  const users = open();
  await users.add({ name: "ada", role: "admin", password: secret }, nowMs);
  const changes = [
    () => users.setPassword("ada", "another good one", nowMs),
    () => users.setRole("ada", "viewer"),
    () => users.endSessions("ada"),
    () => users.disable("ada", nowMs),
    () => users.remove("ada", nowMs),
  ];
  for (const change of changes) {
    users.enable("ada");
    const generation = users.get("ada")?.generation ?? -1;
    expect(users.stillGood("ada", generation)).toBe(true);
    await change();
    expect(users.stillGood("ada", generation)).toBe(false);
  }
});

test("a removed user is gone by name, the hub goes on asking, and the name can be given again", async () => {
  const users = open();
  const { generation } = await users.add({ name: "ada", role: "admin", password: secret }, nowMs);
  users.remove("ada", nowMs);
  expect([users.list(), users.any, users.anyLive]).toEqual([[], true, false]);
  expect((await users.check("ada", secret)).ok).toBe(false);
  await users.add({ name: "ada", role: "viewer", password: secret }, nowMs);
  expect(users.stillGood("ada", generation)).toBe(false);
});

test("another process's users are there after a refresh, and no password is in a file or shown", async () => {
  const [hub, cli] = [open(), open()];
  const user = await cli.add({ name: "ada", role: "admin", password: secret }, nowMs);
  expect(hub.refresh()).toBe(true);
  expect((await hub.check("ada", secret)).ok).toBe(true);
  cli.disable("ada", nowMs);
  hub.refresh();
  expect((await hub.check("ada", secret)).ok).toBe(false);
  const file = readFileSync(path.join(dataDir, "access", "users.state"), "latin1");
  expect([file, inspect(user), inspect(hub, { depth: 5 })].join()).not.toContain(secret);
});

test("one name tried from everywhere is slowed, yet not where its user was let in before", () => {
  const attempts = new LoginAttempts();
  attempts.succeeded("10.0.0.1", "ada");
  for (let count = 0; count < freeAttemptsOfName; count++)
    attempts.failed(`10.0.1.${count}`, "Ada", nowMs);
  expect(attempts.waitMs("10.0.0.2", "ada", nowMs)).toBeGreaterThan(0);
  expect(attempts.waitMs("10.0.0.1", "ada", nowMs)).toBe(0);
  expect(attempts.waitMs("10.0.0.2", "grace", nowMs)).toBe(0);
  for (let count = 0; count < freeAttempts; count++) attempts.byAddress.add("10.0.0.1", nowMs);
  expect(attempts.waitMs("10.0.0.1", "ada", nowMs), "wrong tokens").toBe(0);
  for (let count = 0; count < freeAttempts; count++)
    attempts.failed("10.0.0.1", `x${count}`, nowMs);
  expect(attempts.waitMs("10.0.0.1", "ada", nowMs)).toBeGreaterThan(0);
  expect(attempts.waitMs("10.0.0.2", "ada", nowMs + 60_000)).toBe(0);
});
