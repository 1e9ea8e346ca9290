import path from "node:path";
import { expect, test } from "vitest";
import { radeonFiles } from "../../test/captures/amd-card.ts";
import { arcTree } from "../../test/captures/intel-card.ts";
import { temporaryFolder, type TreeFiles, writeTree } from "../../test/captures/tree.ts";
import { createLog, silentLog } from "../base/log.ts";
import type { Device } from "../model/device.ts";
import { openSources } from "./open.ts";
import type { SourceContext } from "./source.ts";

const place = "devices/pci0000:00/0000:00:03.1/0000:2d:00.0";

/** One card as in /sys: class/drm links to the folder of the PCI device. */
function linkedTree(files: TreeFiles, folder = place): string {
  const root = writeTree(
    Object.fromEntries(
      Object.entries(files).map(([name, text]) => [path.join(folder, name), text]),
    ),
  );
  return writeTree({ "class/drm/card0/device": `-> ${path.join(root, folder)}` }, root);
}

/** The Arc's tree without the files outside its PCI device. */
const arcFiles: TreeFiles = Object.fromEntries(
  Object.entries(arcTree).flatMap(([name, text]) => {
    const own = /^class\/drm\/card\d+\/device\/(.*)$/.exec(name)?.[1];
    return own === undefined ? [] : [[own, text]];
  }),
);
const intelFiles: TreeFiles = { ...arcFiles, device: "0xe20b" };

interface Machine {
  readonly host?: string;
  readonly machineId?: string;
  readonly sysfs?: string;
  readonly log?: SourceContext["log"];
}

async function devicesOf(urls: readonly string[], machine: Machine = {}): Promise<Device[]> {
  const { host = "box", machineId, sysfs = temporaryFolder(), log = silentLog } = machine;
  const root = writeTree({
    "proc/uptime": "1 1",
    ...(machineId === undefined ? {} : { "etc/machine-id": machineId }),
  });
  const context = { host, log, nowMs: () => 0, sysfs, procfs: path.join(root, "proc") };
  const opened = await openSources(urls, context);
  const devices = opened.flatMap(({ source }) => source.devices());
  for (const { source } of opened) await source.close();
  return devices;
}

const uuidsOf = async (urls: readonly string[], machine?: Machine): Promise<string[]> =>
  (await devicesOf(urls, machine)).map(({ uuid }) => uuid);

const { unique_id: _, ...plainRadeon } = radeonFiles;
const cards = [
  ["amd", "amd:?processes=false", plainRadeon],
  ["intel", "intel:?processes=false", intelFiles],
] as const;

for (const [vendor, url, files] of cards) {
  test(`an ${vendor} card without a UUID has one of its own on every machine`, async () => {
    const sysfs = linkedTree(files);
    const first = { sysfs, host: "ws-1", machineId: "1".repeat(32) };
    const [uuid] = await uuidsOf([url], first);
    expect(uuid).toMatch(new RegExp(`^${vendor}-[0-9a-f:.]+-[0-9a-f]{12}$`));
    expect(uuid).not.toContain("1".repeat(12));
    expect(await uuidsOf([url], first)).toEqual([uuid]);
    expect(await uuidsOf([url], { ...first, host: "ws-2" })).not.toEqual([uuid]);
    expect(await uuidsOf([url], { ...first, machineId: "2".repeat(32) })).not.toEqual([uuid]);
    expect(await uuidsOf([url], { sysfs, host: "ws-1" })).not.toEqual(
      await uuidsOf([url], { sysfs, host: "ws-2" }),
    );
  });

  const [driver, id] = vendor === "amd" ? ["amdgpu", "1002:744C"] : ["xe", "8086:E20B"];
  const damaged = [
    ["without an address", `DRIVER=${driver}\nPCI_ID=${id}`],
    ["with an empty address", `DRIVER=${driver}\nPCI_ID=${id}\nPCI_SLOT_NAME=`],
    ["cut off in the address", `DRIVER=${driver}\nPCI_ID=${id}\nPCI_SLOT_NAME=0000:2d:0`],
    ["of a single line", `DRIVER=${driver}`],
    ["that is empty", ""],
    ["of noise", "\u0001\u0002=\u0003\nPCI_SLOT_NAME=\u0004"],
  ] as const;
  for (const [how, uevent] of damaged) {
    test(`an ${vendor} card with a uevent ${how} is known by its path`, async () => {
      const links: TreeFiles = { driver: `-> ../../bus/pci/drivers/${driver}` };
      const [device, ...more] = await devicesOf([url], {
        sysfs: linkedTree({ ...files, uevent, ...links }),
      });
      expect(more).toEqual([]);
      expect(device?.pciBusId).toBe("0000:2d:00.0");
      expect(device?.uuid).toMatch(new RegExp(`^${vendor}-0000:2d:00\\.0-[0-9a-f]{12}$`));
      expect(device?.model).toBe((await devicesOf([url], { sysfs: linkedTree(files) }))[0]?.model);
    });
  }

  test(`an ${vendor} card whose address nothing reports is left out, once, with the reason`, async () => {
    const lines: string[] = [];
    const log = createLog({
      level: "warn",
      json: false,
      colour: false,
      nowMs: () => 0,
      write: (line) => lines.push(line),
    });
    const sysfs = linkedTree({ ...files, uevent: `DRIVER=${driver}\nPCI_SLOT_NAME=` }, "elsewhere");
    expect(await devicesOf([url], { sysfs, log })).toEqual([]);
    expect(lines.filter((line) => line.includes("PCI_SLOT_NAME"))).toHaveLength(1);
  });
}

test("simulated GPUs differ by host, by source and by seed, and stay the same over restarts", async () => {
  const urls = ["sim:2", "sim:2", "sim:2?seed=7"];
  const here = await uuidsOf(urls, { host: "ws-1" });
  const there = await uuidsOf(urls, { host: "ws-2" });
  expect(new Set([...here, ...there]).size).toBe(12);
  expect(await uuidsOf(urls, { host: "ws-1" })).toEqual(here);
  expect((await devicesOf(urls)).every(({ simulated }) => simulated)).toBe(true);
});
