/** The file `address` in a data folder: the URL of the hub that holds the folder's lock, for commands on the same machine. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { formatError, systemCode } from "../base/error.ts";
import type { Log } from "../base/log.ts";

const fileIn = (dataDir: string): string => path.join(dataDir, "address");

/** The file is a convenience: on a disk error the hub logs a warning and continues without it. */
export function publishAddress(dataDir: string, url: string, log: Log): { close(): void } {
  const file = fileIn(dataDir);
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (thrown) {
      log.warn("address file not written: commands on this machine need --url", {
        file,
        error: formatError(thrown),
      });
    }
  };
  attempt(() => {
    if (readAddress(dataDir) !== url) replaceUnsynced(file, `${url}\n`);
  });
  return { close: () => attempt(() => rmSync(file, { force: true })) };
}

/** Not synced to the disk: after a power cut no hub runs, and the next one writes the file again. */
function replaceUnsynced(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text, { mode: 0o600 });
  renameSync(`${file}.tmp`, file);
}

/** Valid only while a process holds the lock: a killed hub leaves its file behind. */
export function readAddress(dataDir: string): string | undefined {
  try {
    return readFileSync(fileIn(dataDir), "utf8").trim() || undefined;
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}
