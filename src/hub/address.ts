/** The file `address` in a data folder: the URL of the hub that holds the folder's lock, for commands on the same machine. */
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { formatError, systemCode } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { replaceFile } from "../base/state/atomic.ts";

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
  attempt(() => replaceFile(file, `${url}\n`));
  return { close: () => attempt(() => rmSync(file, { force: true })) };
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
