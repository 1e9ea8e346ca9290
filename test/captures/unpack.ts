// A capture of `gpulse doctor --capture` laid out as a /sys again, so that it can serve as a fixture.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { temporaryFolder } from "./tree.ts";

interface Capture {
  readonly sysfs: string;
  readonly files: readonly { path: string; text?: string; base64?: string }[];
  readonly links: readonly { path: string; target: string }[];
}

/** The folder to give as `--sysfs`. Refusals are left out: a file that may not be read cannot be made portable. */
export function unpackCapture(file: string): string {
  const capture = JSON.parse(readFileSync(file, "utf8")) as Capture;
  const root = temporaryFolder();
  const place = (from: string): string | undefined => {
    if (!from.startsWith(`${capture.sysfs}/`)) return undefined;
    const target = path.join(root, from.slice(capture.sysfs.length));
    mkdirSync(path.dirname(target), { recursive: true });
    return target;
  };
  for (const { path: from, text, base64 } of capture.files) {
    const target = place(from);
    if (target === undefined || (text === undefined && base64 === undefined)) continue;
    writeFileSync(target, text ?? Buffer.from(base64 ?? "", "base64"));
  }
  for (const { path: from, target: points } of capture.links) {
    const target = place(from);
    if (target !== undefined) symlinkSync(points, target);
  }
  return root;
}
