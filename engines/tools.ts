// Finds the system programs that tests run. A missing tool is a failure if it could have been installed here; it is a reason to
// skip only if installing it is up to the user.

import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import path from "node:path";

interface Tool {
  readonly programs: readonly string[];
  readonly debianPackage: string;
  readonly elsewhere: string;
}

export type ToolName =
  | "chromium"
  | "promtool"
  | "prometheus"
  | "node-exporter"
  | "redis-server"
  | "redis-exporter"
  | "postgresql"
  | "postgres-exporter"
  | "nginx"
  | "nginx-exporter"
  | "victoria-metrics"
  | "gcc"
  | "alertmanager"
  | "amtool"
  | "mosquitto"
  | "influxdb"
  | "etcd"
  | "munge"
  | "slurmctld"
  | "slurmd"
  | "slurm-client"
  | "slurmdbd"
  | "slurmrestd"
  | "slurm-jwt"
  | "mariadb"
  | "java"
  | "maven"
  | "python"
  | "btop"
  | "tmux"
  | "zsh"
  | "fish"
  | "groff"
  | "mandoc";

export type FoundTool = { readonly path: string } | { readonly missing: string };

const TOOLS = JSON.parse(
  readFileSync(new URL("./tools.json", import.meta.url), "utf8"),
) as Readonly<Record<ToolName, Tool>>;

function onPath(program: string): string | undefined {
  const endings = process.platform === "win32" ? [".exe", ".cmd"] : [""];
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter)) {
    for (const ending of endings) {
      const file = path.join(folder, program + ending);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        continue;
      }
    }
  }
  return undefined;
}

/** True if a missing tool is a failure, since it could have been installed. */
export function couldInstall(): boolean {
  if (process.env["GPULSE_SYSTEM_TOOLS"] === "off") return false;
  return process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
}

/** Returns the program's path, or why tests that need it are skipped. Throws if `npm test` should have installed it. */
export function findTool(name: ToolName): FoundTool {
  const tool = TOOLS[name];
  for (const program of tool.programs) {
    const file = onPath(program);
    if (file !== undefined) return { path: file };
  }
  if (couldInstall()) {
    throw new Error(
      `${name} is missing though it can be installed here: run node scripts/system-tools.mjs (package ${tool.debianPackage})`,
    );
  }
  return { missing: `needs ${name}: ${tool.elsewhere}` };
}

/** For use inside a test: returns the program's path, or skips the test with the reason. */
export function toolOrSkip(context: { skip(note: string): never }, name: ToolName): string {
  const found = findTool(name);
  return "path" in found ? found.path : context.skip(found.missing);
}
