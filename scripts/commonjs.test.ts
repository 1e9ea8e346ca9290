import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterEach, beforeEach, expect, test } from "vitest";
import { toCommonJs } from "./commonjs.mjs";

const sources: Readonly<Record<string, string>> = {
  "main.ts": `
    import { shared } from "./shared.ts";
    import wrapped from "./wrapped.cjs";
    import { basename } from "node:path";
    import os, { EOL } from "node:os";
    import * as util from "node:util";
    const { later } = await0();
    function await0() { return { later: () => import("./later.ts") }; }
    void later().then(({ default: text, fail }) => {
      console.log(shared(), wrapped.late(), basename(import.meta.url), text, typeof os.cpus, EOL === os.EOL, util.inspect([1]));
      if (process.argv[2] === "fail") fail();
    });`,
  "other.ts": `import { shared } from "./shared.ts"; console.log("other", shared());`,
  "shared.ts": `export const shared = (): string => "shared";`,
  "later.ts": `
    import { shared } from "./shared.ts";
    export default \`later \${shared()}\`;
    export function fail(): never {
      throw new Error("on purpose");
    }`,
  // An ES module required by a CommonJS one: its bindings are set when it is first needed.
  "wrapped.cjs": `const { late } = require("./late.ts"); module.exports = { late };`,
  "late.ts": `export let late = (): string => "late";`,
};

let root: string;
let dist: string;

beforeEach(async () => {
  root = mkdtempSync(path.join(tmpdir(), "gpulse-commonjs-"));
  dist = path.join(root, "dist", "program");
  for (const [name, text] of Object.entries(sources)) writeFileSync(path.join(root, name), text);
  await build({
    absWorkingDir: root,
    entryPoints: ["main.ts", "other.ts"],
    outdir: dist,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    chunkNames: "[name]-[hash]",
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: "linked",
    logLevel: "silent",
  });
  await toCommonJs(dist, ["main.js", "other.js"]);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const expected = "shared late main-entry.js later shared function true [ 1 ]\n";
const codeFolder = (): string => path.join(root, "dist", ".code");
const codeFiles = (folder = codeFolder()): string[] => readdirSync(folder);

function run(...args: string[]): string {
  return execFileSync(process.execPath, [path.join(dist, "main.js"), ...args], {
    encoding: "utf8",
    env: { ...process.env, GPULSE_CACHE: path.join(root, "cache"), NODE_OPTIONS: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

test("a converted bundle runs as before: chunks, lazy and late bindings, builtins, its own address", () => {
  expect(run()).toBe(expected);
  const other = execFileSync(process.execPath, [path.join(dist, "other.js")], { encoding: "utf8" });
  expect(other).toBe("other shared\n");
});

test("source maps still lead to the line and column of the source", () => {
  const file = readdirSync(dist).find((name) => /^later-.*\.js$/.test(name)) ?? "";
  const text = readFileSync(path.join(dist, file), "utf8");
  const payload = JSON.parse(
    readFileSync(path.join(dist, `${file}.map`), "utf8"),
  ) as SourceMapPayload;
  const lines = text.slice(0, text.indexOf("throw new Error")).split("\n");
  const entry = new SourceMap(payload).findEntry(lines.length - 1, lines.at(-1)?.length ?? 0);
  const source = sources["later.ts"]?.split("\n") ?? [];
  expect(entry).toMatchObject({
    originalLine: source.findIndex((line) => line.includes("throw")),
    originalColumn: source.find((line) => line.includes("throw"))?.indexOf("throw"),
  });
});

test("compiled code is stored by the first start and not written again by the second", () => {
  run();
  const [file = ""] = codeFiles();
  const { mtimeMs, mode } = statSync(path.join(codeFolder(), file));
  expect(mode & 0o777).toBe(0o600);
  expect(run()).toBe(expected);
  expect(codeFiles()).toEqual([file]);
  expect(statSync(path.join(codeFolder(), file)).mtimeMs).toBe(mtimeMs);
});

test("each command has compiled code of its own", () => {
  run("query");
  run("hub");
  expect(codeFiles().map((name) => name.split("-")[0])).toEqual(["hub", "query"]);
});

test.for([
  ["empty", () => Buffer.alloc(0)],
  ["cut short", (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)],
  ["no index", () => Buffer.from([255, 255, 255, 255, 1, 2, 3])],
  [
    "off by one bit",
    (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === 5_000 ? byte ^ 1 : byte))),
  ],
] as const)("stored code that is %s is ignored and replaced", ([, damage]) => {
  run();
  const file = path.join(codeFolder(), codeFiles()[0] ?? "");
  const good = readFileSync(file);
  writeFileSync(file, damage(good));
  expect(run()).toBe(expected);
  expect(Math.abs(statSync(file).size - good.length)).toBeLessThan(good.length / 10);
});

test("a changed file of the same length runs as it is now", () => {
  run();
  const file = readdirSync(dist)
    .filter((name) => name.endsWith(".js"))
    .map((name) => path.join(dist, name))
    .find((name) => readFileSync(name, "utf8").includes('"shared"'));
  const text = readFileSync(file ?? "", "utf8");
  writeFileSync(file ?? "", text.replace('"shared"', '"SHARED"'));
  expect(run()).toBe(expected.replaceAll("shared", "SHARED"));
});

test("code that others may write to is not used; the user's cache is", () => {
  run();
  chmodSync(codeFolder(), 0o777);
  expect(run()).toBe(expected);
  expect(codeFiles(path.join(root, "cache", "code"))).toHaveLength(1);
});

test("a folder that cannot be written to is no reason to fail", () => {
  writeFileSync(codeFolder(), "a file in the way");
  writeFileSync(path.join(root, "cache"), "another");
  expect(run()).toBe(expected);
});
