// Python packages, each set in its own virtual environment in the user's cache.

import path from "node:path";

import { installWith, installOnce, requiredTool } from "./cache.ts";

export interface PythonPackages {
  readonly python: string;
  readonly folder: string;
}

/** @param packages in pip's form, with their versions */
export async function pythonPackages(
  name: string,
  packages: readonly string[],
): Promise<PythonPackages> {
  const folder = await installOnce(name, packages.join(" "), async (aside) => {
    await installWith(requiredTool("python"), ["-m", "venv", aside]);
    // Compiling every module would take longer than downloading them.
    const install = ["-m", "pip", "install", "--quiet", "--no-compile", ...packages];
    await installWith(path.join(aside, "bin", "python"), install);
  });
  return { python: path.join(folder, "bin", "python"), folder };
}
