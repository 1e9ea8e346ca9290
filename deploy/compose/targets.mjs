// Writes Prometheus's targets/JOB.yml with the running services: those whose names resolve. A service of a disabled profile must
// not be shown as down; a service that resolved once stays a target, since it is down when it no longer does. Every omitted
// target is reported with the reason.
//
//   node targets.mjs FROM TO [--once]
//
// With --once it exits with 1 if no target is left. Plain Node only, since it runs in the image as a mounted file.
import { lookup } from "node:dns/promises";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const EVERY_MS = 5_000;
const TARGET = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]*):(\d{1,5})$/;

/** @typedef {{ targets: string[], labels?: Record<string, string> }} Group */

/** @param {string} text */
const unquoted = (text) => text.trim().replace(/^(["'])(.*)\1$/, "$2");
/** @param {string} list */
const items = (list) => list.split(",").map(unquoted).filter(Boolean);

/**
 * Parses the groups of a target file: `- targets: [a:1, b:2]` or one `- a:1` per line below it, and `labels` as `{ a: b }` or one
 * `a: b` per line below it.
 * @param {string} text @param {(line: number) => void} notUnderstood
 */
function parseGroups(text, notUnderstood) {
  /** @type {Group[]} */
  const groups = [];
  /** @type {"targets" | "labels" | undefined} */
  let inside;
  for (const [index, whole] of text.split("\n").entries()) {
    const line = whole.replace(/(^|\s)#.*$/, "").trimEnd();
    if (line.trim() === "" || line === "[]") continue;
    const [, dash, key, value = ""] = /^\s*(- )?\s*(targets|labels):\s*(.*)$/.exec(line) ?? [];
    if (dash !== undefined) groups.push({ targets: [] });
    const group = groups.at(-1);
    const flow = /^\[(.*)\]$|^\{(.*)\}$/.exec(value);
    const item = /^\s*- (.+)$/.exec(line)?.[1];
    const pair = /^\s*([\w.-]+):\s+(.+)$/.exec(line);
    if (group === undefined) notUnderstood(index + 1);
    else if (key === "targets" && flow?.[1] !== undefined) group.targets.push(...items(flow[1]));
    else if (key === "labels" && flow?.[2] !== undefined)
      group.labels = Object.fromEntries(
        items(flow[2]).map(
          (one) => /** @type {[string, string]} */ (one.split(/:\s*/, 2).map(unquoted)),
        ),
      );
    else if ((key === "targets" || key === "labels") && value === "") inside = key;
    else if (inside === "targets" && item !== undefined) group.targets.push(unquoted(item));
    else if (inside === "labels" && pair !== null)
      group.labels = { ...group.labels, [pair[1] ?? ""]: unquoted(pair[2] ?? "") };
    else notUnderstood(index + 1);
  }
  return groups;
}

/** @type {Set<string>} */
const seen = new Set();

/** Why a target is omitted; undefined if it is not. @param {string} target */
async function reasonToDrop(target) {
  const [, host = ""] = TARGET.exec(target) ?? [];
  if (host === "") return "it is not HOST:PORT";
  if (seen.has(host)) return undefined;
  try {
    await lookup(host.replace(/^\[(.*)\]$/, "$1"));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    return `the name does not resolve (${code}): its profile is off, or the name is wrong`;
  }
  seen.add(host);
  return undefined;
}

/** The last report per target, so that a line is printed once. @type {Map<string, string>} */
const reported = new Map();
/** @param {string} what @param {string} sentence */
function report(what, sentence) {
  if (reported.get(what) === sentence) return;
  reported.set(what, sentence);
  process.stderr.write(`targets: ${what}: ${sentence}.\n`);
}

/** @type {Map<string, string>} */
const written = new Map();

/** Writes the files and returns the number of remaining targets. @param {string} from @param {string} to */
async function write(from, to) {
  let left = 0;
  for (const name of readdirSync(from).filter((file) => /\.(yml|yaml)$/.test(file))) {
    const text = readFileSync(path.join(from, name), "utf8");
    const groups = [];
    const parsed = parseGroups(text, (line) =>
      report(`${name}:${line}`, "left out: a list of targets or labels is expected here"),
    );
    for (const { targets, ...labels } of parsed) {
      const here = [];
      for (const target of targets) {
        const reason = await reasonToDrop(target);
        if (reason === undefined) {
          here.push(target);
          if (reported.has(`${name}: ${target}`)) report(`${name}: ${target}`, "is a target now");
        } else report(`${name}: ${target}`, `left out: ${reason}`);
      }
      if (here.length > 0) groups.push({ targets: here, ...labels });
      left += here.length;
    }
    const rendered = `${JSON.stringify(groups)}\n`;
    if (written.get(name) === rendered) continue;
    const aside = path.join(to, `.${name}.next`);
    writeFileSync(aside, rendered, { mode: 0o644 });
    renameSync(aside, path.join(to, name));
    written.set(name, rendered);
  }
  return left;
}

const [from, to, once] = process.argv.slice(2);
if (from === undefined || to === undefined) {
  process.stderr.write("targets: give two folders: node targets.mjs FROM TO [--once]\n");
  process.exit(2);
}
process.once("SIGTERM", () => process.exit(0));
for (;;) {
  const left = await write(from, to);
  if (left === 0) report(from, "no target is left");
  else reported.delete(from);
  if (once === "--once") {
    process.exitCode = left === 0 ? 1 : 0;
    break;
  }
  await sleep(EVERY_MS);
}
