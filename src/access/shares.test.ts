/** Tests of share links, and of the scopes that OpenID claims grant. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { claimAt, nameOfClaims, scopeOfClaims } from "./oidc.ts";
import { maxShareMs, Shares } from "./shares.ts";

const nowMs = 1_790_000_000_000;
const day = 86_400_000;
let dataDir = "";
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-shares-"));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const open = (): Shares => new Shares({ dataDir, log: silentLog });
const add = (shares: Shares, expiresMs = nowMs + day) =>
  shares.add({ name: "wall", page: "/", createdBy: "ada", expiresMs }, nowMs, randomBytes);

test("a link opens until it ends or is revoked, to the millisecond", () => {
  const shares = open();
  const { share, secret } = add(shares);
  expect(shares.find(secret.reveal(), nowMs + day - 1)?.id).toBe(share.id);
  expect(shares.find(secret.reveal(), nowMs + day)).toBeUndefined();
  expect(shares.find(`${secret.reveal()}x`, nowMs)).toBeUndefined();
  const cli = open();
  cli.revoke("wall", nowMs);
  shares.refresh();
  expect(shares.find(secret.reveal(), nowMs)).toBeUndefined();
  expect(shares.stillGood(share.id, nowMs)).toBe(false);
  expect(() => shares.revoke("wall", nowMs)).toThrow("has ended already");
  expect(() => shares.revoke("none", nowMs)).toThrow("There is no share none");
});

test.each([nowMs, nowMs - 1, nowMs + maxShareMs + 1, Number.NaN])(
  "a link always ends, within ninety days: %d is refused",
  (expiresMs) => {
    expect(() => add(open(), expiresMs)).toThrow("ends within 90 days");
  },
);

test("the secret is in no file, and each use is counted", () => {
  const shares = open();
  const { share, secret } = add(shares);
  shares.noteUse(share.id, nowMs + 1);
  shares.noteUse(share.id, nowMs + 2);
  expect(open().useOf(share.id)).toEqual({ count: 2, lastMs: nowMs + 2 });
  const file = readFileSync(path.join(dataDir, "access", "shares.state"), "latin1");
  expect(file).not.toContain(secret.reveal().slice(-20));
  expect(JSON.stringify({ secret })).toBe('{"secret":"<secret>"}');
});

const roles = { roleClaim: "groups", admin: ["gpu-admins"], viewer: ["gpu-users"] };
test.each([
  [{ groups: ["gpu-users", "gpu-admins"] }, roles, "admin"],
  [{ groups: ["gpu-users"] }, roles, "read"],
  [{ groups: "gpu-users" }, roles, "read"],
  [{ groups: ["others"] }, roles, undefined],
  [{ groups: [7, null, { admin: true }] }, roles, undefined],
  [{}, roles, undefined],
  [{ groups: ["x"] }, { ...roles, admin: [], viewer: [] }, undefined],
  [
    { realm_access: { roles: ["gpu-admins"] } },
    { ...roles, roleClaim: "realm_access.roles" },
    "admin",
  ],
  [{ "https://x/roles": ["gpu-users"] }, { ...roles, roleClaim: "https://x/roles" }, "read"],
  [
    { email: "a@b.c", email_verified: true },
    { ...roles, roleClaim: "email", viewer: ["a@b.c"] },
    "read",
  ],
  [{ email: "a@b.c" }, { ...roles, roleClaim: "email", viewer: ["a@b.c"] }, undefined],
])("claims %j give, by %j, the scope %s", (claims, settings, scope) => {
  expect(scopeOfClaims(claims, settings)).toBe(scope);
});

test("a claim is looked up among the claims alone, and a name is one line", () => {
  expect(claimAt({ a: { b: 1 } }, "a.b")).toBe(1);
  expect(claimAt({}, "constructor.name")).toBeUndefined();
  expect(nameOfClaims({ preferred_username: "ada\n", sub: "1" })).toBe("ada");
  expect(nameOfClaims({ sub: "1" })).toBe("1");
  expect(nameOfClaims({})).toBe("unnamed");
});
