// cAdvisor reports a cgroup as a container, without any container engine: one that is created and removed while it runs.

import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "vitest";

import { startCadvisor } from "../../engines/cadvisor.ts";
import { orSkip } from "../../engines/cache.ts";
import { startProcess } from "../../engines/process.ts";
import { waitUntil } from "../../engines/wait.ts";

const MOUNT = "/sys/fs/cgroup";
const WAIT_MS = 60_000;
const NAME = `gpulse-cadvisor-test-${process.pid}`;

interface Place {
  readonly folder: string;
  /** The name in cAdvisor. */
  readonly id: string;
}

/** Where cgroups can be created: below our own in version 2, and in the trees of version 1 whose root we are in. */
function places(): readonly Place[] {
  const lines = readFileSync("/proc/self/cgroup", "utf8").trim().split("\n");
  const own = new Map(lines.map((line) => line.split(":").slice(1) as [string, string]));
  if (existsSync(path.join(MOUNT, "cgroup.controllers"))) {
    const id = path.join(own.get("") ?? "/", NAME);
    return [{ folder: path.join(MOUNT, id), id }];
  }
  return ["cpu", "cpuacct", "pids"]
    .filter((tree) => own.get(tree) === "/" && existsSync(path.join(MOUNT, tree)))
    .map((tree) => ({ folder: path.join(MOUNT, tree, NAME), id: `/${NAME}` }));
}

function made(): readonly Place[] | string {
  const found = existsSync(MOUNT) ? places() : [];
  if (found.length === 0) return "there are no control groups in which this process is at the root";
  try {
    for (const { folder } of found) mkdirSync(folder);
    return found;
  } catch (error) {
    return `control groups cannot be made here: ${String(error)}`;
  }
}

test("shows a group that was made while it ran, with the time its processes used", async (context) => {
  const cadvisor = await orSkip(context, startCadvisor());
  const groups = made();
  try {
    if (typeof groups === "string") return context.skip(groups);
    const busy = startProcess("sh", ["-c", "while :; do :; done"], { name: "a busy loop" });
    try {
      for (const { folder } of groups)
        writeFileSync(path.join(folder, "cgroup.procs"), String(busy.pid));
      const id = groups[0]?.id ?? "";
      const page = await waitUntil(
        { what: `cAdvisor to show ${id}`, timeoutMs: WAIT_MS },
        async () => {
          const text = await (await fetch(`${cadvisor.url}/metrics`)).text();
          return usedSeconds(text, id) > 0 ? text : undefined;
        },
      );
      expect(usedSeconds(page, "/")).toBeGreaterThan(usedSeconds(page, id));
      expect(page).toMatch(
        new RegExp(`^container_start_time_seconds{id="${id}"} 1\\.\\d+e\\+09`, "m"),
      );
      expect(page).toMatch(/^container_fs_usage_bytes\{device="[^"]+",id="\/"\} [1-9]/m);
      expect(page).toMatch(/^machine_cpu_cores\{.*\} [1-9]/m);
    } finally {
      await busy.stop();
    }
  } finally {
    if (typeof groups !== "string") for (const { folder } of groups) await remove(folder);
    await cadvisor.stop();
  }
}, 300_000);

function usedSeconds(page: string, id: string): number {
  const line = new RegExp(
    `^container_cpu_usage_seconds_total\\{cpu="total",id="${id}"\\} (\\S+)`,
    "m",
  );
  return Number(line.exec(page)?.[1] ?? 0);
}

/** The kernel releases a cgroup a moment after its last process. */
async function remove(folder: string): Promise<void> {
  await waitUntil({ what: `${folder} to be empty`, timeoutMs: WAIT_MS }, async () => {
    rmdirSync(folder);
    return true;
  });
}
