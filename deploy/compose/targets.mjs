// Writes Prometheus's targets/JOB.yml for the services that are here: those whose name Docker knows. A profile that is off
// has none and must not be told as down; but what was here once stays, since a service that died is down.
//
//   node targets.mjs FROM TO [--once]
//
// Plain Node and nothing else, since it runs in the image as a mounted file.
import { lookup } from "node:dns/promises";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

const EVERY_MS = 5_000;
/** `- targets: [agent:9400, agent-sim:9400]` */
const ADDRESS = /([a-z0-9][a-z0-9.-]*):(\d+)/g;

/** @type {Set<string>} */
const seen = new Set();
/** @type {Map<string, string>} */
const written = new Map();

/** @param {string} host */
async function isHere(host) {
  if (seen.has(host)) return true;
  try {
    await lookup(host);
  } catch {
    return false;
  }
  seen.add(host);
  return true;
}

/** @param {string} from @param {string} to */
async function write(from, to) {
  for (const name of readdirSync(from).filter((file) => file.endsWith(".yml"))) {
    const text = readFileSync(path.join(from, name), "utf8").replaceAll(/^\s*#.*$/gm, "");
    const targets = [];
    for (const [address, host = ""] of text.matchAll(ADDRESS))
      if (await isHere(host)) targets.push(address);
    const rendered = `${JSON.stringify(targets.length === 0 ? [] : [{ targets }])}\n`;
    if (written.get(name) === rendered) continue;
    const aside = path.join(to, `.${name}.next`);
    writeFileSync(aside, rendered, { mode: 0o644 });
    renameSync(aside, path.join(to, name));
    written.set(name, rendered);
  }
}

const [from, to, once] = process.argv.slice(2);
if (from === undefined || to === undefined) {
  process.stderr.write("targets: give two folders: node targets.mjs FROM TO [--once]\n");
  process.exit(2);
}
process.once("SIGTERM", () => process.exit(0));
for (;;) {
  await write(from, to);
  if (once === "--once") break;
  await sleep(EVERY_MS);
}
