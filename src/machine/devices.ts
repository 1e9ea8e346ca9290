/** Disks, network cards and the board: models and sizes. Serial numbers and addresses are never read. */
import { listDir, readLink, readNumber } from "./sysfs/read.ts";
import { mapReadResult } from "./sysfs/read-result.ts";
import type { SnapshotFacts } from "./snapshot.ts";
import { lineOf, type Machine, type MissingFacts, optionalFact } from "./machine.ts";

/** Virtual devices made by software: loop, RAM disk, mapping, array. */
const madeUp = /^(?:loop|ram|zram|dm-|md|nbd|sr|fd|drbd|zd)\d*/;
const mostDevices = 1_024;

export async function readStorage(
  machine: Machine,
  missing: MissingFacts,
): Promise<SnapshotFacts["storage"]> {
  const { sysfs, fileAccess } = machine;
  const names = await listDir(`${sysfs}/block`, fileAccess);
  if (!names.ok) {
    missing.note("storage", names.reason);
    return [];
  }
  const disks = names.value.filter((name) => !madeUp.test(name)).toSorted();
  return Promise.all(
    disks.slice(0, mostDevices).map(async (name) => {
      const folder = `${sysfs}/block/${name}`;
      const [model, sectors, rotational] = await Promise.all([
        lineOf(machine, `${folder}/device/model`),
        readNumber(`${folder}/size`, fileAccess),
        readNumber(`${folder}/queue/rotational`, fileAccess),
      ]);
      return {
        name,
        ...optionalFact("model", missing.optional(`storage.${name}.model`, model)),
        // Sysfs counts in sectors of 512 bytes, whatever the disk's own sector size.
        ...optionalFact(
          "sizeBytes",
          missing.optional(
            `storage.${name}.sizeBytes`,
            mapReadResult(sectors, (count) => count * 512),
          ),
        ),
        kind: kindOf(name, rotational.ok ? rotational.value : undefined),
      };
    }),
  );
}

function kindOf(name: string, rotational: number | undefined): string {
  if (name.startsWith("nvme")) return "nvme";
  if (/^(?:vd|xvd)/.test(name)) return "virtual";
  if (rotational === undefined) return "disk";
  return rotational === 1 ? "disk" : "ssd";
}

/** Network interfaces with a device; bridges, tunnels and containers' interfaces have none. */
export async function readNetwork(
  machine: Machine,
  missing: MissingFacts,
): Promise<SnapshotFacts["network"]> {
  const { sysfs, fileAccess } = machine;
  const names = await listDir(`${sysfs}/class/net`, fileAccess);
  if (!names.ok) {
    missing.note("network", names.reason);
    return [];
  }
  const cards = await Promise.all(
    names.value
      .toSorted()
      .slice(0, mostDevices)
      .map(async (name) => {
        const folder = `${sysfs}/class/net/${name}`;
        const device = await listDir(`${folder}/device`, fileAccess);
        if (!device.ok) return [];
        const [driver, megabits] = await Promise.all([
          readLink(`${folder}/device/driver`, fileAccess),
          readNumber(`${folder}/speed`, fileAccess),
        ]);
        return [
          {
            name,
            ...optionalFact(
              "driver",
              missing.optional(
                `network.${name}.driver`,
                mapReadResult(driver, (target) => target.split("/").at(-1) ?? target),
              ),
            ),
            // -1 if the link is down or the card does not report its speed.
            ...optionalFact(
              "bitsPerSecond",
              megabits.ok && megabits.value > 0 ? megabits.value * 1e6 : undefined,
            ),
          },
        ];
      }),
  );
  return cards.flat();
}

export async function readBoard(
  machine: Machine,
  missing: MissingFacts,
): Promise<SnapshotFacts["board"]> {
  const folder = `${machine.sysfs}/class/dmi/id`;
  const [vendor, product, biosVersion] = await Promise.all([
    lineOf(machine, `${folder}/sys_vendor`),
    lineOf(machine, `${folder}/product_name`),
    lineOf(machine, `${folder}/bios_version`),
  ]);
  return {
    ...optionalFact("vendor", missing.optional("board.vendor", vendor)),
    ...optionalFact("product", missing.take("board.product", product)),
    ...optionalFact("biosVersion", missing.take("board.biosVersion", biosVersion)),
  };
}
