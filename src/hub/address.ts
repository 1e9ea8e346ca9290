/** The file `address` in a data folder: the URL of the hub that holds the folder's lock, for commands on the same machine. */
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { systemCode } from "../errors/error.ts";
import { replaceFile } from "../state/atomic.ts";

const fileIn = (dataDir: string): string => path.join(dataDir, "address");

export function publishAddress(dataDir: string, url: string): { close(): void } {
  replaceFile(fileIn(dataDir), `${url}\n`);
  return { close: () => rmSync(fileIn(dataDir), { force: true }) };
}

/** Of no meaning unless a process holds the lock: a killed hub leaves its file behind. */
export function readAddress(dataDir: string): string | undefined {
  try {
    return readFileSync(fileIn(dataDir), "utf8").trim() || undefined;
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}
