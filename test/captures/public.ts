// Where captures published by other projects lie when they are there. Tests read them; none is committed.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "vitest";

import { repository } from "../../engines/program.ts";

export const publicFolder = path.join(repository, "..", "shared", "captures", "public");

/** A test on captures; its name says which folder it needs, so a skip explains itself. */
export function captureTest(name: string, run: () => void | Promise<void>): void {
  test.skipIf(!existsSync(publicFolder))(`${name} (needs ../shared/captures/public)`, run);
}

export function publicCapture(...parts: string[]): Buffer {
  return readFileSync(path.join(publicFolder, ...parts));
}
