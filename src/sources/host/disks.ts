/** Whole physical disks. Devices on top of them (partitions, LVM, RAID, loops) would count the same bytes again. */
import { host } from "../../model/catalogue/index.ts";
import { listDir, readText } from "../../machine/sysfs/read.ts";
import type { HostContext } from "./machine.ts";
import { type DiskCounts, parseDiskstats } from "./proc.ts";
import { FactCache } from "./fact-cache.ts";
import { capped, type HostFrameBuilder } from "./samples.ts";

const mostDisks = 64;
const physicalNames = /^(?:[hsv]d[a-z]{1,3}|xvd[a-z]{1,3}|nvme\d+n\d+|mmcblk\d+|pmem\d+)$/;

export class Disks {
  readonly #machine: HostContext;
  readonly #physical: FactCache<boolean>;
  leftOut = 0;

  constructor(machine: HostContext) {
    this.#machine = machine;
    this.#physical = new FactCache(machine.nowMs, (name) => this.#isPhysical(name));
  }

  async add(samples: HostFrameBuilder): Promise<void> {
    const { procfs, fileAccess } = this.#machine;
    const text = await readText(`${procfs}/diskstats`, 262_144, fileAccess);
    if (!text.ok) return;
    const all = parseDiskstats(text.value);
    const physical = await this.#physical.filter([...all.keys()]);
    const [shown, leftOut] = capped(physical, mostDisks);
    this.leftOut = leftOut;
    for (const disk of shown) {
      const counts = all.get(disk);
      if (counts !== undefined) addDisk(disk, counts, samples);
    }
  }

  async #isPhysical(name: string): Promise<boolean> {
    const { sysfs, fileAccess } = this.#machine;
    const block = await listDir(`${sysfs}/block/${name}`, fileAccess);
    if (block.ok) return block.value.includes("device");
    const blocks = await listDir(`${sysfs}/block`, fileAccess);
    return !blocks.ok && physicalNames.test(name);
  }
}

function addDisk(disk: string, counts: DiskCounts, samples: HostFrameBuilder): void {
  samples.add(host.diskBytes, counts.readBytes, { disk, action: "read" });
  samples.add(host.diskBytes, counts.writtenBytes, { disk, action: "write" });
  samples.add(host.diskOperations, counts.reads, { disk, action: "read" });
  samples.add(host.diskOperations, counts.writes, { disk, action: "write" });
  samples.add(host.diskOperationSeconds, counts.readSeconds, { disk, action: "read" });
  samples.add(host.diskOperationSeconds, counts.writeSeconds, { disk, action: "write" });
  samples.add(host.diskBusySeconds, counts.busySeconds, { disk });
}
