// Installs the programs that tests run from the system's packages, if this user may. Must never start a service, and never
// install anywhere but on a Debian-like system as root.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { root } from "./bootstrap.mjs";
import { runCommand } from "./command.mjs";
import { PlainError, runMain, say, step } from "./progress.mjs";

/**
 * `probe` is for a program that may exist without the package's additions: arguments with which it then fails.
 * @typedef {{ programs: string[], probe?: string[], debianPackage: string, elsewhere: string }} Tool
 */

const POLICY_FILE = "/usr/sbin/policy-rc.d";

/** @returns {Record<string, Tool>} */
function tools() {
  return JSON.parse(readFileSync(path.join(root, "engines", "tools.json"), "utf8"));
}

/** @param {Tool} tool */
function isThere(tool) {
  const { probe } = tool;
  if (probe !== undefined)
    return tool.programs.some((program) => spawnSync(program, probe).status === 0);
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return tool.programs.some((program) =>
    folders.some(
      (folder) =>
        existsSync(path.join(folder, program)) || existsSync(path.join(folder, `${program}.exe`)),
    ),
  );
}

/** engines/tools.ts has the same condition, and turns a missing tool into a failure or a skip. */
function mayInstall() {
  if (process.env.GPULSE_SYSTEM_TOOLS === "off") return false;
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
}

/** @param {string[]} args */
async function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return runCommand("apt-get", ["-q", "-y", "-o", "DPkg::Lock::Timeout=120", ...args], { env });
}

/** @param {string[]} packages */
async function install(packages) {
  // Debian starts a service when it is installed; tests start their own on free ports, so none may run by itself.
  const ownPolicy = !existsSync(POLICY_FILE);
  if (ownPolicy) writeFileSync(POLICY_FILE, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    const lists = existsSync("/var/lib/apt/lists") ? readdirSync("/var/lib/apt/lists") : [];
    if (!lists.some((name) => name.includes("_Packages"))) await aptGet(["update"]);
    let done = await aptGet(["install", "--no-install-recommends", ...packages]);
    if (done.code !== 0) {
      // Old package lists refer to versions that the mirror no longer has.
      await aptGet(["update"]);
      done = await aptGet(["install", "--no-install-recommends", ...packages]);
    }
    if (done.code !== 0) {
      const reason = done.output.split("\n").filter((line) => line.startsWith("E: "));
      throw new PlainError(
        `apt-get could not install ${packages.join(", ")}: ${reason.join(" ") || "no reason given"}`,
      );
    }
  } finally {
    if (ownPolicy) rmSync(POLICY_FILE, { force: true });
  }
}

/**
 * Installs missing tools if allowed; otherwise prints what will be skipped.
 * @param {readonly string[]} [names] the required tools of engines/tools.json; all by default
 * @returns {Promise<void>}
 */
export async function ensureSystemTools(names) {
  const missing = Object.entries(tools()).filter(
    ([name, tool]) => (names === undefined || names.includes(name)) && !isThere(tool),
  );
  if (missing.length === 0) return;
  if (!mayInstall()) {
    for (const [name, tool] of missing)
      say(`– ${name} is not here, so its tests are skipped: ${tool.elsewhere}`);
    return;
  }
  const packages = [...new Set(missing.map(([, tool]) => tool.debianPackage))].sort();
  say("The tests run real programs that are not on this machine. apt-get installs them now:");
  for (const name of packages) {
    const programs = missing.filter(([, tool]) => tool.debianPackage === name);
    say(`  ${name}: ${programs.map(([program]) => program).join(", ")}`);
  }
  say("GPULSE_SYSTEM_TOOLS=off installs nothing and skips their tests. No service is started.");
  await step(`installing ${packages.length} system packages`, () => install(packages));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href)
  await runMain(() => ensureSystemTools());
