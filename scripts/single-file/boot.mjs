// The first code of a single-file gpulse: unpacks the program into its own folder, once per version, and starts it there.
// Threads, child processes, native parts and the browser app need real files; nothing else is ever written.

import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { getAsset, getRawAsset } from "node:sea";

/** @type {{ version: string, hash: string, files: string[] }} */
const index = JSON.parse(getAsset("index.json", "utf8"));

/** @param {string} folder */
function isOurs(folder) {
  const stat = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined || !stat.isDirectory()) return false;
  // In a world-writable folder, another user could have created it first.
  return (
    process.getuid === undefined || (stat.uid === process.getuid() && (stat.mode & 0o022) === 0)
  );
}

/** Unpacks atomically: other processes of the same version may start at the same moment. @param {string} parent */
function layOut(parent) {
  const target = path.join(parent, `gpulse-${index.version}-${index.hash}`);
  if (isOurs(target)) return target;
  fs.mkdirSync(parent, { recursive: true });
  const aside = fs.mkdtempSync(path.join(parent, ".gpulse-"));
  try {
    for (const file of index.files) {
      const to = path.join(aside, file);
      fs.mkdirSync(path.dirname(to), { recursive: true });
      fs.writeFileSync(to, Buffer.from(/** @type {ArrayBuffer} */ (getRawAsset(file))));
    }
    fs.renameSync(aside, target);
  } catch (error) {
    fs.rmSync(aside, { recursive: true, force: true });
    if (!isOurs(target)) throw error;
  }
  return target;
}

function places() {
  const configured = process.env.GPULSE_CACHE;
  if (configured !== undefined && configured !== "") return [configured];
  const caches = process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache");
  return [path.join(caches, "gpulse"), os.tmpdir()];
}

function home() {
  /** @type {string[]} */
  const reasons = [];
  for (const place of places()) {
    try {
      return layOut(place);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  process.stderr.write(
    `gpulse: there is no folder to lay the program out in (${reasons.join("; ")}): name one in GPULSE_CACHE.\n`,
  );
  return process.exit(1);
}

// gpulse restarts itself as «node program arguments»; here both are this one file.
process.argv[1] = process.execPath;
if (process.argv[2] === process.execPath) process.argv.splice(2, 1);
// A file of the program, such as the process that calls NVML, is started as «node file arguments».
const folder = home();
const part = process.argv[2] ?? "";
const start = part.startsWith(folder + path.sep) ? part : path.join(folder, "bin", "gpulse");
// Its own require only finds Node's modules.
createRequire(start)(start);
