// Checks that the repository contains no paths of a developer's machine and no addresses of a registry.

import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { readSource, sourceFiles } from "./source-tree.ts";

// Written so that none of them matches its own line here.
const FORBIDDEN = [
  /(?<![\w.$}])\/(work|root|tmp|home\/(?!user\b|kubernetes\/bin)\w+|Users\/(?!me\b)\w+)\//,
  /[A-Z]:\\Users\\/,
  /\bregistry\.(npmjs|yarnpkg)\.|\/\/[\w.-]*(artifactory|verdaccio|nexus)/i,
];
const LARGEST_BYTES = 2_000_000;

async function trackedFiles(): Promise<string[]> {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { code, stdout, stderr } = await runProcess("git", args, { cwd: repository });
  if (code !== 0) throw new Error(`git ls-files failed: ${stderr}`);
  return stdout.split("\0").filter((file) => file !== "");
}

function textOf(file: string): string {
  const full = path.join(repository, file);
  const stat = statSync(full, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isFile() || stat.size > LARGEST_BYTES) return "";
  const bytes = readFileSync(full);
  return bytes.subarray(0, 4_096).includes(0) ? "" : bytes.toString("utf8");
}

test("no file names a machine's paths or a registry", async () => {
  const files = await trackedFiles();
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap((file) =>
    textOf(file)
      .split("\n")
      .flatMap((line, index) =>
        FORBIDDEN.some((pattern) => pattern.test(line))
          ? [`${file}:${index + 1}: ${line.trim().slice(0, 120)}`]
          : [],
      ),
  );
  expect(found).toEqual([]);
});

test("package-lock.json holds no download addresses and every platform's optional packages", () => {
  const lock = JSON.parse(textOf("package-lock.json")) as {
    packages: Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>;
  };
  const addresses = Object.values(lock.packages).flatMap(({ resolved }) =>
    resolved?.includes("://") ? [resolved] : [],
  );
  expect(addresses).toEqual([]);
  // Without them `npm ci` rejects the file, and other platforms could not install at all.
  const missing = Object.entries(lock.packages).flatMap(([folder, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) =>
        !(`node_modules/${name}` in lock.packages) &&
        !(`${folder}/node_modules/${name}` in lock.packages),
    ),
  );
  expect(missing).toEqual([]);
});

const RECURSIVE_MKDIR = /\bmkdir(Sync)?\([^;]*\brecursive: *true/;

test.for([
  ["mkdirSync(dir, { recursive: true });", true],
  ["await fs.mkdir(path.dirname(file), {\n  mode: 0o700, recursive: true,\n});", true],
  ["mkdirSync(dir); rmSync(dir, { recursive: true });", false],
] as const)("%s is recursive mkdir: %s", ([text, isOne]) => {
  expect(RECURSIVE_MKDIR.test(text)).toBe(isOne);
});

// Recursive mkdir never returns under /proc on Node 20.
test("src creates folders with makeFolder, never with recursive mkdir", () => {
  const files = sourceFiles("src").filter((file) => !file.endsWith(".test.ts"));
  expect(files.filter((file) => RECURSIVE_MKDIR.test(readSource(file)))).toEqual([]);
});
