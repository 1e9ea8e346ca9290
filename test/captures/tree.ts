// Small /sys and /proc trees for tests: written from a table, or a captured card hung in where a machine has its cards.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** File contents by path; a text that starts with "-> " makes a symbolic link. */
export type TreeFiles = Readonly<Record<string, string | Buffer>>;

/** An empty folder that is gone when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-tree-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function writeTree(files: TreeFiles, root: string = temporaryFolder()): string {
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    if (typeof content === "string" && content.startsWith("-> ")) symlinkSync(content.slice(3), file);
    else writeFileSync(file, typeof content === "string" ? `${content}\n` : content);
  }
  return root;
}

/** A sysfs root whose class/drm is the captured folder, and class/kfd/kfd its kfd folder where it has one. */
export function mountCapture(folder: string): string {
  const root = temporaryFolder();
  mkdirSync(path.join(root, "class/kfd"), { recursive: true });
  symlinkSync(folder, path.join(root, "class/drm"));
  symlinkSync(path.join(folder, "kfd"), path.join(root, "class/kfd/kfd"));
  return root;
}

export function prefixed(prefix: string, files: TreeFiles): TreeFiles {
  return Object.fromEntries(
    Object.entries(files).map(([name, content]) => [path.join(prefix, name), content]),
  );
}
