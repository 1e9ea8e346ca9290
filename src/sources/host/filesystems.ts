/** Filesystems on local disks. Network filesystems are skipped: statfs on one whose server is down hangs. */
import { statfs } from "node:fs/promises";
import { host } from "../../model/catalogue/index.ts";
import { readText } from "../../machine/sysfs/read.ts";
import {
  absenceOf,
  failed,
  mapReadResult,
  present,
  type ReadResult,
} from "../../machine/sysfs/read-result.ts";
import { type HostContext, rootOf } from "./machine.ts";
import { type Mount, parseMountinfo } from "./proc.ts";
import { capped, type HostFrameBuilder } from "./samples.ts";

export interface FilesystemSpace {
  readonly bsize: number;
  readonly blocks: number;
  readonly bavail: number;
  readonly files: number;
  readonly ffree: number;
}
export type ReadSpace = (path: string) => Promise<FilesystemSpace>;

const mostFilesystems = 64;
const deadlineMs = 1_000;
const withoutDisk =
  /^(?:squashfs|iso9660|udf|erofs|fuse(?:\..*)?|nfs.*|cifs|smb.*|9p|ceph|glusterfs|lustre|afs)$/;
const diskless = new Set(["zfs", "bcachefs"]);

/** Mounts on disks to report: each filesystem once, at its mount point closest to the root. */
function diskMounts(mounts: readonly Mount[]): readonly Mount[] {
  const found = new Map<string, Mount>();
  for (const mount of mounts) {
    const onDisk =
      mount.device.startsWith("/dev/") || diskless.has(mount.fstype) || mount.mountpoint === "/";
    if (!onDisk || withoutDisk.test(mount.fstype)) continue;
    // Btrfs subvolumes have their own device numbers but share their space.
    const key = mount.fstype === "btrfs" ? mount.device : mount.number;
    const before = found.get(key);
    if (before === undefined || mount.mountpoint.length < before.mountpoint.length)
      found.set(key, mount);
  }
  return [...found.values()].sort((a, b) => (a.mountpoint < b.mountpoint ? -1 : 1));
}

export class Filesystems {
  readonly #machine: HostContext;
  readonly #ask: ReadSpace;
  /** Pending statfs calls: a hanging disk is not queried twice. */
  readonly #asking = new Set<string>();
  leftOut = 0;

  constructor(machine: HostContext, ask: ReadSpace = statfs) {
    this.#machine = machine;
    this.#ask = ask;
  }

  async add(samples: HostFrameBuilder): Promise<void> {
    const { procfs, fileAccess } = this.#machine;
    const own = await readText(`${procfs}/1/mountinfo`, 1_048_576, fileAccess);
    const text = own.ok ? own : await readText(`${procfs}/self/mountinfo`, 1_048_576, fileAccess);
    if (!text.ok) return;
    const [mounts, leftOut] = capped(diskMounts(parseMountinfo(text.value)), mostFilesystems);
    this.leftOut = leftOut;
    const spaces = await Promise.all(mounts.map((mount) => this.#space(mount)));
    for (const [index, { device, mountpoint, fstype }] of mounts.entries()) {
      const space = spaces[index] ?? failed;
      const labels = { device, mountpoint, fstype };
      samples.add(
        host.filesystemSize,
        mapReadResult(space, ({ bsize, blocks }) => bsize * blocks),
        labels,
      );
      samples.add(
        host.filesystemAvailable,
        mapReadResult(space, ({ bsize, bavail }) => bsize * bavail),
        labels,
      );
      samples.add(
        host.filesystemFiles,
        mapReadResult(space, ({ files }) => files),
        labels,
      );
      samples.add(
        host.filesystemFilesFree,
        mapReadResult(space, ({ ffree }) => ffree),
        labels,
      );
    }
  }

  async #space({ mountpoint }: Mount): Promise<ReadResult<FilesystemSpace>> {
    if (this.#asking.has(mountpoint)) return failed;
    this.#asking.add(mountpoint);
    const answer = this.#ask(`${rootOf(this.#machine)}${mountpoint}`)
      .then(present, absenceOf)
      .finally(() => this.#asking.delete(mountpoint));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<ReadResult<FilesystemSpace>>((resolve) => {
      timer = setTimeout(resolve, deadlineMs, failed);
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
