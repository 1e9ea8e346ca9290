// Checksums of a release and their signature, in OpenSSH's signature format (ssh-keygen -Y), which every system with ssh can
// verify. The allowed keys are in RELEASE-SIGNERS; a signature by any other key is rejected here as it is by users.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { spawnSync } from "node:child_process";

import { PlainError } from "../progress.mjs";

export const SUMS = "SHA256SUMS";
export const SIGNATURE = "SHA256SUMS.sig";
/** The purpose of a signature: one for another purpose does not verify. */
export const NAMESPACE = "gpulse-release";
export const SIGNER = "release@gpulse";

/** Writes the checksums of all other files of the folder in sha256sum's format. @param {string} folder */
export function writeSums(folder) {
  const names = readdirSync(folder)
    .filter((name) => name !== SUMS && name !== SIGNATURE)
    .sort();
  const lines = names.map((name) => {
    const sum = createHash("sha256")
      .update(readFileSync(path.join(folder, name)))
      .digest("hex");
    return `${sum}  ${name}\n`;
  });
  writeFileSync(path.join(folder, SUMS), lines.join(""));
}

/** @param {string[]} args @param {string} input */
function sshKeygen(args, input) {
  const { status, error, stdout, stderr } = spawnSync("ssh-keygen", args, {
    input,
    encoding: "utf8",
  });
  if (error !== undefined) throw new PlainError(`ssh-keygen cannot be run: ${error.message}.`);
  return { ok: status === 0, stdout, reason: stderr.trim() };
}

/** @param {string} folder @param {string} key a private key's file, or a public one whose private key is in the ssh agent */
export function signSums(folder, key) {
  const sums = readFileSync(path.join(folder, SUMS), "utf8");
  const { ok, stdout, reason } = sshKeygen(["-Y", "sign", "-q", "-f", key, "-n", NAMESPACE], sums);
  if (!ok) throw new PlainError(`${key} cannot sign: ${reason}`);
  writeFileSync(path.join(folder, SIGNATURE), stdout);
}

/** Throws with the reason: the signature, its key, or a file is invalid. @param {string} folder @param {string} signers */
export function verifyRelease(folder, signers) {
  const sums = readFileSync(path.join(folder, SUMS), "utf8");
  const args = ["-Y", "verify", "-f", signers, "-I", SIGNER, "-n", NAMESPACE];
  const { ok, reason, stdout } = sshKeygen([...args, "-s", path.join(folder, SIGNATURE)], sums);
  if (!ok)
    throw new PlainError(
      `${SUMS} is not signed by a key of ${path.basename(signers)}: ${reason || stdout.trim()}`,
    );
  for (const line of sums.split("\n").filter((one) => one !== "")) {
    const [, sum, name = ""] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    const found = createHash("sha256")
      .update(readFileSync(path.join(folder, name)))
      .digest("hex");
    if (found !== sum) throw new PlainError(`${name} is not the file that was signed.`);
  }
}
