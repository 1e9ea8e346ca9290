/** Tests of the memory limit, and of the budgets derived from it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { Machine } from "../../machine/machine.ts";
import { budgetsOf, memoryLimit } from "./memory.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const gibibyte = 2 ** 30;
const big = { machineBytes: 64 * gibibyte, heapBytes: 4 * gibibyte };

/** A machine with these files below /sys/fs/cgroup, and a process in this cgroup. */
function machine(group: string, files: Readonly<Record<string, string>>): Machine {
  const root = mkdtempSync(path.join(tmpdir(), "gpulse-memory-"));
  folders.push(root);
  const write = (file: string, text: string): void => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  };
  write("proc/1/cgroup", `${group}\n`);
  for (const [file, text] of Object.entries(files)) write(`sys/fs/cgroup/${file}`, `${text}\n`);
  return {
    procfs: path.join(root, "proc"),
    sysfs: path.join(root, "sys"),
    fileAccess: hostFileAccess,
    architecture: "x64",
    env: {},
  };
}

const v2 = { "cgroup.controllers": "memory" };
test.each([
  ["a container's own group", "0::/", { ...v2, "memory.max": "2147483648" }, 2, "cgroup"],
  [
    "a group above is tighter",
    "0::/a/b",
    { ...v2, "a/memory.max": "1073741824", "a/b/memory.max": "3221225472" },
    1,
    "cgroup",
  ],
  ["no limit", "0::/", { ...v2, "memory.max": "max" }, 8, "the V8 heap"],
  [
    "version 1",
    "4:memory:/docker/x",
    { "memory/docker/x/memory.limit_in_bytes": "2147483648" },
    2,
    "cgroup",
  ],
  [
    "version 1 without a limit",
    "4:memory:/",
    { "memory/memory.limit_in_bytes": "9223372036854771712" },
    8,
    "the V8 heap",
  ],
])("%s decides", async (_name, group, files, gibibytes, origin) => {
  const limit = await memoryLimit(undefined, machine(group, files), big);
  expect(limit).toEqual({ bytes: gibibytes * gibibyte, origin });
});

test("--memory wins over the cgroup, and never exceeds what V8's heap allows", async () => {
  const here = machine("0::/", { ...v2, "memory.max": String(2 * gibibyte) });
  const set = (bytes: number) => memoryLimit(bytes, here, big);
  expect(await set(gibibyte)).toEqual({ bytes: gibibyte, origin: "--memory" });
  expect(await set(16 * gibibyte)).toEqual({ bytes: 8 * gibibyte, origin: "the V8 heap" });
});

test("without any limit half of the machine is used", async () => {
  const limit = await memoryLimit(undefined, machine("0::/", v2), {
    machineBytes: 8 * gibibyte,
    heapBytes: 4 * gibibyte,
  });
  expect(limit).toEqual({ bytes: 4 * gibibyte, origin: "half of the machine" });
});

test.each([256, 512, 2_048, 16_384])("all budgets of %i MiB fit into it", (mebibytes) => {
  const bytes = mebibytes * 2 ** 20;
  const budgets = budgetsOf({ bytes, origin: "--memory" });
  const { queriesBytes, storeBytes, bodiesBytes, responsesBytes, series } = budgets;
  expect(queriesBytes + storeBytes + bodiesBytes + responsesBytes + series * 1_000).toBeLessThan(
    bytes,
  );
  expect(budgets.queryBytes).toBeLessThanOrEqual(budgets.queriesPerClientBytes);
  expect(budgets.queriesPerClientBytes).toBeLessThan(queriesBytes);
  expect(budgets.seriesPerClient).toBeLessThan(series);
  expect(series).toBeGreaterThan(9_000);
});

test("a hub with the chart's 2 GiB holds the series of 10,000 GPUs and a query of all of them", () => {
  const budgets = budgetsOf({ bytes: 2 * gibibyte, origin: "cgroup" });
  expect(budgets.seriesPerClient).toBeGreaterThan(400_000);
  expect(budgets.queryBytes).toBeGreaterThan(10_000 * 2_000 * 9);
});
