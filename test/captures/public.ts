// Where captures published by other projects lie when they are there. Tests read them; none is committed.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

import { repository } from "../../engines/program.ts";

export const publicFolder = path.join(repository, "..", "shared", "captures", "public");

/** For `test.skipIf(noCaptures)`; the describe block around it names the folder, so a skip explains itself. */
export const noCaptures = !existsSync(publicFolder);

export function publicCapture(...parts: string[]): Buffer {
  return readFileSync(path.join(publicFolder, ...parts));
}
