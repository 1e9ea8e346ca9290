// A release's checksums and their signature, created and verified by ssh-keygen itself with keys of this test.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";

import { NAMESPACE, SIGNATURE, SIGNER, SUMS, signSums, verifyRelease, writeSums } from "./sign.mjs";

const root = mkdtempSync(path.join(tmpdir(), "gpulse-release-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const hasTool = spawnSync("ssh-keygen", ["-?"]).error === undefined;
const [key, other, signers, release] = ["key", "other", "signers", "release"].map((name) =>
  path.join(root, name),
) as [string, string, string, string];

function keygen(file: string): string {
  spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", file]);
  return readFileSync(`${file}.pub`, "utf8").trim();
}

beforeEach((context) => {
  if (!hasTool) context.skip("ssh-keygen is not installed");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(release, { recursive: true });
  writeFileSync(signers, `${SIGNER} namespaces="${NAMESPACE}" ${keygen(key)}\n`);
  keygen(other);
  writeFileSync(path.join(release, "gpulse-0.2.0.tgz"), "the package");
  writeFileSync(path.join(release, "sbom.cdx.json"), "{}");
  writeSums(release);
  signSums(release, key);
});

test("a release as it was signed verifies, by us and by the tools the guide names", () => {
  expect(() => verifyRelease(release, signers)).not.toThrow();
  const guide = readFileSync("docs/guides/release.md", "utf8");
  const [command = ""] = /^ssh-keygen -Y verify .*$/m.exec(guide) ?? [];
  const verified = spawnSync("sh", ["-c", command.replace("RELEASE-SIGNERS", signers)], {
    cwd: release,
    encoding: "utf8",
  });
  expect([verified.status, verified.stdout.trim()]).toEqual([
    0,
    expect.stringContaining(`Good "${NAMESPACE}" signature for ${SIGNER}`),
  ]);
  expect(spawnSync("sha256sum", ["--check", "--strict", SUMS], { cwd: release }).status).toBe(0);
});

test("a file that was changed is refused", () => {
  writeFileSync(path.join(release, "gpulse-0.2.0.tgz"), "another package");
  expect(() => verifyRelease(release, signers)).toThrow("gpulse-0.2.0.tgz is not the file");
});

test("checksums that were changed with the file are refused", () => {
  writeFileSync(path.join(release, "gpulse-0.2.0.tgz"), "another package");
  writeSums(release);
  expect(() => verifyRelease(release, signers)).toThrow("is not signed by a key of signers");
});

test("a signature by a key that is not listed is refused", () => {
  signSums(release, other);
  expect(() => verifyRelease(release, signers)).toThrow("is not signed by a key of signers");
});

test("a signature of the same key for another purpose is refused", () => {
  rmSync(path.join(release, SIGNATURE));
  spawnSync("ssh-keygen", ["-Y", "sign", "-q", "-f", key, "-n", "git", path.join(release, SUMS)]);
  expect(() => verifyRelease(release, signers)).toThrow("is not signed by a key of signers");
});

test("the checksums cover every file beside them", () => {
  const names = readFileSync(path.join(release, SUMS), "utf8").match(/\S+$/gm);
  expect(names).toEqual(["gpulse-0.2.0.tgz", "sbom.cdx.json"]);
});
