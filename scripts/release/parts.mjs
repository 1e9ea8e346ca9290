// The parts of a release besides the package and the programs: the chart as created by `helm package`, the context for `docker
// build -`, and the notes from the changelog. The same commit gives the same bytes.

import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

import { PlainError } from "../progress.mjs";
import { tarGz } from "./tar.mjs";

/**
 * Every file below a folder; links are followed, as in Helm.
 * @param {string} folder @param {string} [below] @returns {string[]} with forward slashes
 */
function filesBelow(folder, below = "") {
  return readdirSync(path.join(folder, below)).flatMap((name) => {
    const file = below === "" ? name : `${below}/${name}`;
    return statSync(path.join(folder, file)).isDirectory() ? filesBelow(folder, file) : [file];
  });
}

/**
 * One line of .helmignore or .dockerignore: a path including everything below it, `*` within a name, a leading double star for any
 * folder.
 * @param {string} line
 */
function matcher(line) {
  const anywhere = line.startsWith("**/");
  const source = line
    .replace(/^\*\*\//, "")
    .replace(/\/$/, "")
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll("*", "[^/]*");
  return new RegExp(`^${anywhere ? "(?:.*/)?" : ""}${source}(?:/|$)`);
}

/** @param {string} text */
const patterns = (text) =>
  text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));

/** Helm's `gpulse-VERSION.tgz`. @param {string} root */
export function packChart(root) {
  const folder = path.join(root, "deploy", "helm", "gpulse");
  const ignored = patterns(readFileSync(path.join(folder, ".helmignore"), "utf8")).map((line) =>
    // A name without a slash applies to every folder.
    matcher(line.replace(/\/$/, "").includes("/") ? line : `**/${line}`),
  );
  const names = filesBelow(folder).filter(
    (name) => name !== ".helmignore" && !ignored.some((one) => one.test(name)),
  );
  return tarGz(
    names.map((name) => ({
      name: `gpulse/${name}`,
      content: readFileSync(path.join(folder, name)),
    })),
  );
}

/**
 * The input of `docker build - < FILE`: the tracked files that .dockerignore admits, and a Dockerfile with the commit.
 * @param {string} root
 * @param {readonly string[]} tracked
 * @param {string} commit
 */
export function packImageContext(root, tracked, commit) {
  const rules = patterns(readFileSync(path.join(root, ".dockerignore"), "utf8")).map((line) => ({
    keeps: line.startsWith("!"),
    matches: matcher(line.replace(/^!/, "")),
  }));
  const isKept = (/** @type {string} */ name) =>
    rules.findLast(({ matches }) => matches.test(name))?.keeps ?? true;
  const dockerfile = readFileSync(path.join(root, "Dockerfile"), "utf8");
  const marked = dockerfile.replace(/^ARG GPULSE_COMMIT=.*$/m, `ARG GPULSE_COMMIT=${commit}`);
  if (!marked.includes(`ARG GPULSE_COMMIT=${commit}\n`))
    throw new Error("BUG: the Dockerfile has no ARG GPULSE_COMMIT");
  const files = tracked.filter((name) => isKept(name)).map((name) => path.join(root, name));
  return tarGz([
    { name: "Dockerfile", content: Buffer.from(marked) },
    { name: ".dockerignore", content: readFileSync(path.join(root, ".dockerignore")) },
    ...files.map((file) => ({
      name: path.relative(root, file).replaceAll(path.sep, "/"),
      content: readFileSync(file),
      executable: (statSync(file).mode & 0o100) !== 0,
    })),
  ]);
}

/** The changelog's section of a version, without its heading. @param {string} changelog @param {string} version */
export function releaseNotes(changelog, version) {
  const heading = new RegExp(`^## \\[?${version.replaceAll(".", "\\.")}\\]?(?: .*)?$`);
  const lines = changelog.split("\n");
  const start = lines.findIndex((line) => heading.test(line));
  if (start === -1)
    throw new PlainError(
      `CHANGELOG.md has no section for ${version}. Move the lines of "Unreleased" below a heading "## ${version} - DATE".`,
    );
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith("## "));
  const section = lines.slice(start + 1, length === -1 ? undefined : start + 1 + length);
  const text = section.join("\n").trim();
  if (text === "") throw new PlainError(`CHANGELOG.md lists no changes for ${version}.`);
  return `# gpulse ${version}\n\n${text}\n`;
}
