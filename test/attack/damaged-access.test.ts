/** Damage to the access files: whatever is lost, no revoked right is restored. */
import { randomBytes } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type AccessState,
  closeAccess,
  isAccessDamaged,
  openAccess,
  refreshAccess,
} from "../../src/access/open.ts";
import { recoverAccess } from "../../src/access/recover.ts";
import { silentLog } from "../../src/base/log.ts";

const nowMs = Date.parse("2026-11-15T12:00:00Z");
const password = "correct horse battery";
const cost = { ln: 4, r: 8, p: 1 };
let dataDir = "";
let opened: AccessState[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-attack-damage-"));
});
afterEach(() => {
  for (const one of opened.splice(0)) closeAccess(one);
  rmSync(dataDir, { recursive: true, force: true });
});

function open(): AccessState {
  const state = openAccess({ dataDir, log: silentLog, random: randomBytes, cost });
  opened.push(state);
  return state;
}
const fileOf = (name: string): string => path.join(dataDir, "access", name);

/** A revoked admin token, a removed admin and a revoked link; each file ends with the record of the revocation. */
async function setUp() {
  const state = open();
  const token = state.tokens
    .add({ name: "boss", scope: "admin" }, nowMs, randomBytes)
    .text.reveal();
  await state.accounts.add({ name: "ada", role: "admin", password }, nowMs);
  const share = state.shares.add(
    { name: "view", page: "/", createdBy: "boss", expiresMs: nowMs + 86_400_000 },
    nowMs,
    randomBytes,
  );
  const files = ["tokens.state", "users.state", "shares.state"];
  const before = files.map((name) => statSync(fileOf(name)).size);
  cpSync(path.join(dataDir, "access"), path.join(dataDir, "older"), { recursive: true });
  state.tokens.revoke("boss", nowMs);
  state.accounts.remove("ada", nowMs);
  state.shares.revoke("view", nowMs);
  const letIn = async ({ tokens, accounts, shares }: AccessState): Promise<readonly boolean[]> => [
    tokens.judge(token, nowMs).ok,
    (await accounts.check("ada", password)).ok,
    shares.find(share.secret.reveal(), nowMs) !== undefined,
    !tokens.any && !accounts.any,
  ];
  return { state, letIn, sizeBefore: (name: string) => before[files.indexOf(name)] ?? 0 };
}

const flip = (file: string, at: number): void => {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] ?? 0) ^ 0x20;
  writeFileSync(file, bytes);
};
type Damage = readonly [what: string, damage: (file: string, lastRecordAt: number) => void];
const damages: readonly Damage[] = [
  ["a flipped bit in the last record", (file, at) => flip(file, at + 40)],
  ["a flipped bit in the first record", (file) => flip(file, 20)],
  ["a last record that is cut off", (file) => truncateSync(file, statSync(file).size - 9)],
  ["a last record that is missing", (file, at) => truncateSync(file, at)],
  [
    "a record that was cut out of the middle",
    (file, at) => {
      const bytes = readFileSync(file);
      writeFileSync(file, Buffer.concat([bytes.subarray(0, 64), bytes.subarray(at)]));
    },
  ],
  ["zeros", (file) => writeFileSync(file, Buffer.alloc(statSync(file).size))],
  [
    "zeros at the end",
    (file, at) => {
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0, at));
    },
  ],
  ["nothing in it", (file) => writeFileSync(file, "")],
  [
    "other bytes",
    (file) => writeFileSync(file, "a letter to my aunt, and nothing else\n".repeat(9)),
  ],
  ["no file", (file) => unlinkSync(file)],
  ["an older copy", (file) => cpSync(path.join(dataDir, "older", path.basename(file)), file)],
];
const cases = damages.flatMap(([what, damage]) =>
  ["tokens.state", "users.state", "shares.state"].map((name) => [name, what, damage] as const),
);

test.each(cases)(
  "%s with %s: a hub does not start, and recovering gives nothing back",
  async (name, _what, damage) => {
    const { state, letIn, sizeBefore } = await setUp();
    closeAccess(state);
    opened = [];
    damage(fileOf(name), sizeBefore(name));
    expect(open).toThrow(/gpulse token recover/);
    const recovered = recoverAccess({ dataDir, log: silentLog, nowMs, random: randomBytes });
    expect(recovered.map(({ file }) => path.basename(file))).toEqual([name]);
    for (const { damaged } of recovered)
      if (damaged !== undefined) expect(existsSync(damaged)).toBe(true);
    const after = open();
    expect(await letIn(after)).toEqual([false, false, false, false]);
    after.accounts.list().forEach(({ name: user }) => after.accounts.enable(user));
    expect(await letIn(after)).toEqual([false, false, false, false]);
  },
);

test.each(cases)("%s with %s in a running hub: nobody is let in", async (name, _what, damage) => {
  const { state, letIn, sizeBefore } = await setUp();
  const live = state.tokens.add({ name: "live", scope: "admin" }, nowMs, randomBytes).text.reveal();
  // File systems record modification times in ticks of a few milliseconds.
  await sleep(20);
  damage(fileOf(name), sizeBefore(name));
  refreshAccess(state);
  expect(await letIn(state)).toEqual([false, false, false, false]);
  expect(isAccessDamaged(state)).toBe(true);
  if (name === "tokens.state") expect(state.tokens.judge(live, nowMs).ok).toBe(false);
  recoverAccess({ dataDir, log: silentLog, nowMs, random: randomBytes });
  refreshAccess(state);
  expect(isAccessDamaged(state)).toBe(false);
  expect(await letIn(state)).toEqual([false, false, false, false]);
});

test("a session that was ended stays ended when its file is damaged", () => {
  const state = open();
  const someone = { holder: { kind: "oidc", id: "ada" }, name: "ada", scope: "admin" } as const;
  const value = state.sessions.open(someone, nowMs);
  const at = statSync(fileOf("sessions.state")).size;
  state.sessions.close(value);
  closeAccess(state);
  opened = [];
  flip(fileOf("sessions.state"), at + 20);
  expect(open().sessions.find(value, nowMs)).toBeUndefined();
});

test("files of an earlier gpulse, without marks, open as before", async () => {
  const { state, letIn } = await setUp();
  closeAccess(state);
  opened = [];
  for (const name of ["tokens.state", "users.state", "shares.state"])
    unlinkSync(`${fileOf(name)}.mark`);
  expect(await letIn(open())).toEqual([false, false, false, false]);
  expect(recoverAccess({ dataDir, log: silentLog, nowMs, random: randomBytes })).toEqual([]);
});
