// Patches bundled packages so that they load and prepare less at a program's start. A patch whose text is no longer in the
// package fails the build: remove or rewrite it then.

import { readFileSync } from "node:fs";
import path from "node:path";

/** Loads a CommonJS module at its first use. @param {string} name @param {string} id @param {string[]} functions */
const lazily = (name, id, functions) =>
  `const ${name} = { ${functions.map((one) => `${one}: (...given) => require('${id}').${one}(...given)`).join(", ")} }`;

/** Milliseconds of processor time at each start of a hub: child_process 5, http2 4, semver 4, safe-regex2 1, generated functions 10, glob 2, http-errors 2. @type {Record<string, [string, string][]>} */
const PATCHES = {
  "commander/lib/command.js": [
    [
      "const childProcess = require('node:child_process');",
      lazily("childProcess", "node:child_process", ["spawn"]),
    ],
  ],
  "fastify/lib/server.js": [
    [
      "const http2 = require('node:http2')",
      lazily("http2", "node:http2", ["createServer", "createSecureServer"]),
    ],
  ],
  "fastify/lib/plugin-utils.js": [
    ["const semver = require('semver')", lazily("semver", "semver", ["gt", "coerce", "satisfies"])],
    // Plugins name a major version, which needs no parser.
    [
      "if (meta?.fastify == null) return",
      "if (meta?.fastify == null || meta.fastify === `${this.version.split('.')[0]}.x`) return",
    ],
  ],
  "@fastify/static/index.js": [
    [
      "const { glob } = require('glob')",
      "const glob = (...given) => require('glob').glob(...given)",
    ],
  ],
  "@fastify/send/lib/createHttpError.js": [
    [
      "const createError = require('http-errors')",
      "const createError = (...given) => require('http-errors')(...given)",
    ],
  ],
  "find-my-way/index.js": [
    [
      "const isRegexSafe = require('safe-regex2')",
      "const isRegexSafe = (...given) => require('safe-regex2')(...given)",
    ],
  ],
  "find-my-way/lib/node.js": [
    [
      "return new Function('path', 'i', `'use strict'\\nreturn ${lines.join(' && ')}`) // eslint-disable-line",
      "return (path, i) => path.startsWith(prefix, i)",
    ],
  ],
};

/** @type {import("esbuild").Plugin} */
export const packagePatches = {
  name: "package-patches",
  setup(build) {
    build.onLoad(
      {
        filter:
          /node_modules[/\\](?:commander|fastify|@fastify[/\\](?:static|send)|find-my-way)[/\\].*\.js$/,
      },
      ({ path: file }) => {
        const name = file.split(path.sep).join("/").split("/node_modules/").at(-1) ?? "";
        const patches = PATCHES[name];
        if (patches === undefined) return undefined;
        let contents = readFileSync(file, "utf8");
        for (const [from, to] of patches) {
          if (contents.split(from).length !== 2)
            throw new Error(`scripts/package-patches.mjs: ${name} does not contain once: ${from}`);
          contents = contents.replace(from, () => to);
        }
        return { contents, loader: "js" };
      },
    );
  },
};
