#!/usr/bin/env node
// Writes an alertmanager.yml with its variables filled in, since Alertmanager expands none: $NAME and ${NAME} in double quotes,
// from the environment, into a file that only its owner may read. Must never print a value.
//
//   node render.mjs FROM TO
//
// A value is inserted literally: a $, a quote or a backslash in it has no special meaning. An unset variable is an error; an
// empty one is a value, for a mail server without authentication.
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import process from "node:process";

// A comment is left unchanged.
const PATTERN =
  /(^[ \t]*#.*$)|"((?:[^"\\\n]|\\.)*)"|'(?:[^'\n]|'')*'|\$(?:\{(\w+)\}|([A-Z_][A-Z0-9_]*))/gm;
const VARIABLE = /\$(?:\{([A-Za-z_]\w*)\}|([A-Z_][A-Z0-9_]*))/g;

class Complaint extends Error {}

/**
 * @param {string} text
 * @param {Record<string, string | undefined>} env
 */
function render(text, env) {
  /** @type {Set<string>} */
  const missing = new Set();
  /** @param {string} name */
  const value = (name) => {
    const given = env[name];
    if (given === undefined) missing.add(name);
    // A JSON string without its quotes is valid between YAML's double quotes.
    return JSON.stringify(given ?? "").slice(1, -1);
  };
  /** @param {string} quoted */
  const filled = (quoted) =>
    quoted.replace(VARIABLE, (_, /** @type {string?} */ braced, /** @type {string} */ bare) =>
      value(braced ?? bare),
    );
  const rendered = text.replace(PATTERN, (found, ...groups) => {
    const [comment, quoted, braced, bare] = /** @type {(string | undefined)[]} */ (groups);
    if (comment !== undefined) return found;
    if (quoted !== undefined) return `"${filled(quoted)}"`;
    const outside = braced ?? bare;
    if (outside === undefined) return found;
    throw new Complaint(`$${outside} is not in double quotes: write "$${outside}".`);
  });
  if (missing.size > 0)
    throw new Complaint(
      `${[...missing].join(", ")} ${missing.size === 1 ? "is" : "are"} not set: set ${missing.size === 1 ? "it" : "them"} in the environment, or in .env for compose.`,
    );
  return rendered;
}

const [from, to] = process.argv.slice(2);
try {
  if (from === undefined || to === undefined)
    throw new Complaint("give two files: node render.mjs alertmanager.yml RENDERED.yml");
  const text = render(readFileSync(from, "utf8"), process.env);
  const aside = `${to}.${process.pid}`;
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: "wx" });
    chmodSync(aside, 0o600);
    renameSync(aside, to);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
} catch (error) {
  process.stderr.write(`render: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof Complaint ? 2 : 1;
}
