// The cache of engines installed from Maven, PyPI and Go, in the user's cache folder outside the checkout, for reuse by the next
// run. A folder appears there atomically, and only one process installs it.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, open, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { runProcess } from "./process.ts";
import { couldInstall, findTool, type ToolName } from "./tools.ts";

const INSTALL_TIMEOUT_MS = 900_000;
const POLL_MS = 200;
const REPORT_EVERY_MS = 30_000;

/** The engine is missing and cannot be installed on this machine: a reason to skip a test, never to pass it. */
export class EngineMissingError extends Error {}

function cacheFolder(): string {
  const caches = process.env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache");
  return path.join(caches, "gpulse-engines");
}

/** The path of a system program that an engine needs. */
export function requiredTool(name: ToolName): string {
  const found = findTool(name);
  if ("path" in found) return found.path;
  throw new EngineMissingError(found.missing);
}

/** For use inside a test: returns the result of `start`, or skips the test with the reason. */
export async function orSkip<T>(
  context: { skip(note: string): never },
  start: Promise<T>,
): Promise<T> {
  try {
    return await start;
  } catch (error) {
    if (error instanceof EngineMissingError) return context.skip(error.message);
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

async function tryLock(file: string): Promise<boolean> {
  try {
    const lock = await open(file, "wx");
    await lock.writeFile(String(process.pid));
    await lock.close();
    return true;
  } catch {
    const owner = Number.parseInt(await readFile(file, "utf8").catch(() => ""), 10);
    if (Number.isInteger(owner) && !isAlive(owner)) await rm(file, { force: true });
    return false;
  }
}

function installedFolder(name: string, recipe: string): string {
  const print = createHash("sha256").update(recipe).digest("hex").slice(0, 10);
  return path.join(cacheFolder(), `${name}-${print}`);
}

/** True if `installOnce` would find the folder installed. */
export function isInstalled(name: string, recipe: string): boolean {
  return existsSync(installedFolder(name, recipe));
}

/**
 * Returns the folder of that name, installed on first use. `recipe` describes its content: a different recipe gets a different
 * folder.
 */
export async function installOnce(
  name: string,
  recipe: string,
  install: (folder: string) => Promise<void>,
  timeoutMs = INSTALL_TIMEOUT_MS,
): Promise<string> {
  const folder = installedFolder(name, recipe);
  if (existsSync(folder)) return folder;
  await mkdir(cacheFolder(), { recursive: true });
  const lock = `${folder}.lock`;
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await tryLock(lock))) {
    if (performance.now() > deadlineMs) throw new Error(`${lock} is held for too long: delete it`);
    await sleep(POLL_MS);
  }
  const startedMs = performance.now();
  const report = (mark: string): void => {
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    process.stderr.write(`${mark} installing ${name} for the tests (${seconds} s)\n`);
  };
  const aside = await mkdtemp(path.join(cacheFolder(), `${name}-aside-`));
  let timer: NodeJS.Timeout | undefined;
  try {
    if (existsSync(folder)) return folder;
    process.stderr.write(`… installing ${name} for the tests\n`);
    timer = setInterval(() => report("…"), REPORT_EVERY_MS);
    await install(aside);
    await rename(aside, folder);
    report("✓");
    return folder;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (couldInstall() || error instanceof EngineMissingError) throw error;
    throw new EngineMissingError(`needs ${name}, which could not be installed here: ${reason}`);
  } finally {
    clearInterval(timer);
    await rm(aside, { recursive: true, force: true });
    await rm(lock, { force: true });
  }
}

/** Runs an installer to its end; the end of its output is the reason of a failure. */
export async function installWith(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  timeoutMs = INSTALL_TIMEOUT_MS,
): Promise<void> {
  const done = await runProcess(program, args, { timeoutMs, env });
  if (done.code === 0) return;
  const words = `${done.stdout}\n${done.stderr}`.trim().split("\n").slice(-12).join("\n");
  throw new Error(`${path.basename(program)} ${args.join(" ")} failed:\n${words}`);
}

/** Returns the folder with the jars of engines/maven/NAME.xml and their dependencies; archives are unpacked. */
export async function mavenJars(
  name: string,
  goal: "copy-dependencies" | "unpack-dependencies" = "copy-dependencies",
): Promise<string> {
  const pom = new URL(`./maven/${name}.xml`, import.meta.url);
  return installOnce(name, readFileSync(pom, "utf8"), async (folder) => {
    const maven = requiredTool("maven");
    const what = [`dependency:${goal}`, "-DincludeScope=runtime"];
    const where = [
      "-f",
      pom.pathname,
      `-DoutputDirectory=${folder}`,
      `-DmarkersDirectory=${folder}/m`,
    ];
    await installWith(maven, ["-q", "-B", ...what, ...where]);
  });
}
