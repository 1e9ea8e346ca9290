import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  machineAt,
  serverTree,
  type Tree,
  twoH200,
  writeTree,
} from "../../../test/fixtures/runs/snapshot.ts";
import { takeSnapshot } from "./take.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { GpuView } from "../../machine/snapshot-gpu.ts";
import { parseMounts, whyUnseen } from "../../machine/visibility.ts";

let root = "";
beforeEach(async () => void (root = await mkdtemp(path.join(tmpdir(), "gpulse-view-"))));
afterEach(() => rm(root, { recursive: true }));

async function visible(tree: Tree, gpus: readonly GpuView[] = twoH200()) {
  await writeTree(root, tree);
  const { visibility = [] } = await takeSnapshot({
    machine: machineAt(root, {}),
    gpus,
    host: "node-1",
    nowMs: 1_700_000_000_000,
    version: "1.2.3",
  });
  return Object.fromEntries(visibility.map(({ part, state, detail }) => [part, [state, detail]]));
}

test("a server outside of a container sees all seven parts", async () => {
  const view = await visible(serverTree);
  expect(Object.keys(view)).toEqual([
    "driver",
    "GPUs",
    "topology",
    "NUMA nodes",
    "cgroup limits",
    "clocks",
    "persistence mode",
  ]);
  expect(Object.values(view).map(([state]) => state)).not.toContain("unseen");
  expect(view["NUMA nodes"]?.[1]).toContain("2 nodes");
});

/** The server's files except those whose path matches. */
const without = (hidden: RegExp): Tree =>
  Object.fromEntries(Object.entries(serverTree).filter(([name]) => !hidden.test(name)));

test("what a container hides is unseen, with the file that is not there", async () => {
  const view = await visible(without(/devices\/system\/node|fs\/cgroup|bus\/pci/));
  expect(view["NUMA nodes"]?.[0]).toBe("unseen");
  expect(view["NUMA nodes"]?.[1]).toContain("devices/system/node does not exist");
  expect(view["cgroup limits"]?.[0]).toBe("unseen");
  expect(view["GPUs"]?.[0]).toBe("partly");
  expect(view["GPUs"]?.[1]).toContain("whether there are more is unknown");
});

test("without GPUs, driver and GPUs are unseen and what belongs to a GPU is absent", async () => {
  const view = await visible(without(/driver\/nvidia|module\/|bus\/pci|rocm/), []);
  expect(view["driver"]?.[0]).toBe("unseen");
  expect(view["GPUs"]?.[0]).toBe("unseen");
  expect(view["clocks"]).toEqual(["absent", "no GPU is read"]);
  expect(view["persistence mode"]?.[0]).toBe("absent");
  expect(view["topology"]).toEqual(["absent", "fewer than two GPUs"]);
});

test("GPUs without readings leave topology, clocks and persistence unseen with the reason", async () => {
  const silent = twoH200().map((one) => ({ ...one, readings: [] }));
  const view = await visible(serverTree, silent);
  for (const part of ["topology", "clocks", "persistence mode"])
    expect(view[part]).toEqual(["unseen", "no reading had arrived"]);
});

test("a table of mounts is read with its escapes, and lines cut short are passed over", () => {
  const text = String.raw`25 30 0:23 / /sys rw,nosuid shared:2 - sysfs sysfs rw
36 25 0:40 / /sys/a\040b ro - tmpfs tmpfs ro
broken`;
  expect(parseMounts(text)).toEqual([
    { point: "/sys", type: "sysfs" },
    { point: "/sys/a b", type: "tmpfs" },
  ]);
});

test.each([
  [
    "24 1 8:1 / / rw - ext4 /dev/sda rw\n25 24 0:23 / /sys rw - sysfs sysfs rw\n36 25 0:40 / /sys/devices/system/node ro - tmpfs tmpfs ro",
    "a tmpfs is mounted over /sys/devices/system/node",
  ],
  ["24 1 8:1 / / rw - ext4 /dev/sda rw", "/sys is not mounted"],
])("the mounts of a process say why a folder is unseen", async (mounts, sentence) => {
  const machine = {
    procfs: "/proc",
    sysfs: "/sys",
    architecture: "x64",
    env: {},
    fileAccess: {
      ...hostFileAccess,
      bytes: async (file: string, most: number) =>
        file === "/proc/self/mountinfo" ? Buffer.from(mounts) : hostFileAccess.bytes(file, most),
    },
  };
  expect(await whyUnseen(machine, "/sys/devices/system/node")).toBe(sentence);
});
