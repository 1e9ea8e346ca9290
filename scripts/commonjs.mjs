// Converts the bundler's ES modules to CommonJS, the only form whose compiled code Node 20 lets a program cache
// (src/base/boot.ts). Imported bindings become local constants, so that a call across files costs the same as within one; the
// bundler's own conversion reads every use from the other file's exports. Source maps stay exact.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

import { init, parse } from "es-module-lexer";

import { root } from "./bootstrap.mjs";

/** As long as the text they replace, so that the following columns do not move. */
const DYNAMIC_IMPORT = "__load";
const MODULE_URL = "__importMetaUrl";

const IMPORT =
  /^import\s*(?:(?:(?<name>[\w$]+),?)?(?:\*as (?<all>[\w$]+)|\{(?<some>[^}]*)\})?\s*from)?\s*"(?<from>[^"]+)"/;
const EXPORT =
  /export(?: default (?<value>[^;]+)|\{(?<names>[\w$, ]*)\});(?=\s*(?:\/\*[^*]*\*\/\s*)?(?:\/\/#[^\n]*\s*)?$)/;
/** Bindings that are set when another module first needs them, not when their file runs. */
const SET_LATER = /\bvar ((?:[\w$]+,)+)init_[\w$]+=__esm\(/g;

/** @typedef {{ theirs: string, ours: string }} Binding */
/** @typedef {{ from: string, name: string | undefined, all: string | undefined, some: Binding[] }} Import */

/**
 * Converts every file of a bundle in place, and writes a starter for each entry: `main.js` starts `main-entry.js`.
 * @param {string} folder
 * @param {string[]} entries
 */
export async function toCommonJs(folder, entries) {
  await init;
  const names = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const texts = new Map(names.map((name) => [name, readFileSync(path.join(folder, name), "utf8")]));
  const setLater = new Map([...texts].map(([name, text]) => [name, bindingsSetLater(text)]));
  for (const [name, text] of texts) {
    const target = path.join(folder, entries.includes(name) ? entryFile(name) : name);
    const { imports, code } = takeImports(text);
    const live = imports.some(({ from, some }) =>
      some.some(({ theirs }) => setLater.get(from.slice(2))?.has(theirs)),
    );
    if (live) {
      writeFileSync(target, await convertWithLiveBindings(text));
      rmSync(path.join(folder, `${name}.map`), { force: true });
      continue;
    }
    const head = imports.map(requireStatement).join("");
    writeFileSync(target, head + convertExport(name, code, setLater.get(name) ?? new Set()));
    shiftMap(path.join(folder, `${name}.map`), head.length - (text.length - code.length));
  }
  for (const name of entries)
    writeFileSync(
      path.join(folder, name),
      `require("./boot.js").start(__dirname,"${entryFile(name)}");\n`,
    );
  await bundleBoot(folder);
  writeFileSync(path.join(folder, "package.json"), '{"type":"commonjs"}\n');
}

/** @param {string} folder */
async function bundleBoot(folder) {
  const { build } = await import("esbuild");
  await build({
    absWorkingDir: root,
    entryPoints: ["src/base/boot.ts"],
    outfile: path.join(folder, "boot.js"),
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20.19",
    minifySyntax: true,
    minifyWhitespace: true,
    logLevel: "silent",
  });
}

/** @param {string} name */
const entryFile = (name) => name.replace(/\.js$/, "-entry.js");

/** @param {string} text */
function bindingsSetLater(text) {
  return new Set([...text.matchAll(SET_LATER)].flatMap(([, list = ""]) => list.split(",")));
}

/**
 * Returns the static imports, and the code without them. Imports at the start are cut off, others are replaced by blanks, so that
 * only the first line's columns move.
 * @param {string} text
 * @returns {{ imports: Import[], code: string }}
 */
function takeImports(text) {
  const imports = [];
  let code = text;
  let start = 0;
  for (const { ss: from, se: to, s: nameFrom, d: kind } of parse(text)[0]) {
    if (kind === -2) code = replaceAt(code, from, MODULE_URL);
    else if (kind >= 0) code = replaceAt(code, from, DYNAMIC_IMPORT);
    if (kind !== -1) continue;
    const statement = IMPORT.exec(text.slice(from, to));
    if (statement?.groups === undefined)
      throw new Error(`BUG: not understood: ${text.slice(from, nameFrom)}`);
    const { name, all, some, from: place = "" } = statement.groups;
    imports.push({ from: place, name, all, some: bindings(some) });
    const end = text[to] === ";" ? to + 1 : to;
    if (from === start) start = end;
    else code = replaceAt(code, from, " ".repeat(end - from));
  }
  return { imports, code: code.slice(start) };
}

/** @param {string} text @param {number} at @param {string} by */
const replaceAt = (text, at, by) => text.slice(0, at) + by + text.slice(at + by.length);

/** `a as b,c` as pairs. @param {string} [list] */
function bindings(list = "") {
  return list
    .split(",")
    .filter((one) => one !== "")
    .map((one) => {
      const [theirs = "", ours = theirs] = one.trim().split(" as ");
      return { theirs, ours };
    });
}

/** @param {Import} statement */
function requireStatement({ name, all, some, from }) {
  const call = `require("${from}")`;
  const own = from.startsWith("./");
  const names = some.map(({ theirs, ours }) => (theirs === ours ? ours : `${theirs}:${ours}`));
  if (name !== undefined && own) names.push(`default:${name}`);
  const parts = [];
  // The default import of a CommonJS package is its exports object.
  if (name !== undefined && !own) parts.push(`${name}=${call}`);
  if (all !== undefined) parts.push(`${all}=${call}`);
  if (names.length > 0) parts.push(`{${names.join(",")}}=${call}`);
  return parts.length === 0 ? `${call};` : `const ${parts.join(",")};`;
}

/** @param {string} name @param {string} code @param {Set<string>} setLater */
function convertExport(name, code, setLater) {
  const statement = EXPORT.exec(code);
  if (statement === null) {
    if (/[;}]export[{ ]/.test(code.slice(-2000)))
      throw new Error(`BUG: the export of ${name} was not found`);
    return code;
  }
  const { value, names } = statement.groups ?? {};
  const exported = bindings(names).map(({ theirs: own, ours: shown }) =>
    setLater.has(own) ? `get ${shown}(){return ${own}}` : shown === own ? own : `${shown}:${own}`,
  );
  const replacement =
    value === undefined ? `module.exports={${exported.join(",")}};` : `exports.default=${value};`;
  return (
    code.slice(0, statement.index) + replacement + code.slice(statement.index + statement[0].length)
  );
}

/** The bundler's own conversion: every use of an import reads it from the other file's exports. @param {string} text */
async function convertWithLiveBindings(text) {
  const { transform } = await import("esbuild");
  const { code } = await transform(text.replace(/\/\/# sourceMappingURL=.*\s*$/, ""), {
    format: "cjs",
    platform: "node",
    target: "node20.19",
    minifyWhitespace: true,
    define: { "import.meta.url": "__importMetaUrl" },
    supported: { "dynamic-import": false },
  });
  return code;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * Moves the first line's columns in a source map: only its first segment has an absolute column, the others have differences.
 * @param {string} file @param {number} shift
 */
function shiftMap(file, shift) {
  if (shift === 0) return;
  /** @type {{ mappings: string }} */
  const map = JSON.parse(readFileSync(file, "utf8"));
  const [first = "", ...rest] = map.mappings.split(";");
  const column = /^[g-z0-9+/]*[A-Za-f]/.exec(first)?.[0];
  if (column === undefined) return;
  const moved = encode(decode(column) + shift) + first.slice(column.length);
  writeFileSync(file, JSON.stringify({ ...map, mappings: [moved, ...rest].join(";") }));
}

/**
 * Decodes a number of a source map: base 64, five bits per digit, the lowest first; the last bit is the sign.
 * @param {string} digits
 */
function decode(digits) {
  let value = 0;
  for (let at = 0; at < digits.length; at++)
    value += (DIGITS.indexOf(digits.charAt(at)) & 31) * 32 ** at;
  return value % 2 === 1 ? -Math.floor(value / 2) : value / 2;
}

/** @param {number} number */
function encode(number) {
  let rest = number < 0 ? -number * 2 + 1 : number * 2;
  let digits = "";
  do {
    const more = rest >= 32;
    digits += DIGITS[(rest % 32) + (more ? 32 : 0)];
    rest = Math.floor(rest / 32);
  } while (rest > 0);
  return digits;
}
