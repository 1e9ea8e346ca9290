/** Finds containers in the version 2 cgroup tree. Searches only where runtimes place them, and not inside a container. */
import { type CgroupOwner, parseCgroupPath } from "../../machine/owners/cgroup.ts";
import { listDir } from "../../machine/sysfs/read.ts";
import { present, type ReadResult, unsupported } from "../../machine/sysfs/read-result.ts";
import type { HostContext } from "./machine.ts";

export interface FoundContainer {
  /** Path below the cgroup root; identifies the container while it runs. */
  readonly path: string;
  readonly owner: CgroupOwner;
}

const deepest = 10;
/** Limit of visited folders. */
const mostFolders = 8_192;

const controlFile =
  /^(?:cgroup|cpu|cpuset|memory|io|pids|hugetlb|rdma|misc|irq|dmem|perf_event|zswap)\./;
/** Units that contain containers; the machine's many other services and sessions do not. */
const holdsContainers =
  /^(?:user@\d+|containerd|docker|crio|cri-o|k3s|k3s-agent|rke2-.*|kubelet|podman|nomad|slurmd|.*slurmstepd|lxc.*)\.(?:service|scope)$/;
const unit = /\.(?:service|scope|mount|socket|swap|timer|device)$/;

export const worthEntering = (name: string): boolean =>
  !controlFile.test(name) && (!unit.test(name) || holdsContainers.test(name));

/** The root of the version 2 tree: the only one, or next to version 1 on a hybrid machine. */
export async function findCgroupRoot({
  sysfs,
  fileAccess,
}: HostContext): Promise<ReadResult<string>> {
  for (const root of [`${sysfs}/fs/cgroup`, `${sysfs}/fs/cgroup/unified`]) {
    const files = await listDir(root, fileAccess);
    if (files.ok && files.value.includes("cgroup.controllers")) return present(root);
  }
  return unsupported;
}

/** All containers, sorted by path. */
export async function findContainers(
  machine: HostContext,
  root: string,
): Promise<readonly FoundContainer[]> {
  const found: FoundContainer[] = [];
  let folders = 0;
  const enter = async (path: string, depth: number): Promise<void> => {
    if (depth > deepest || ++folders > mostFolders) return;
    const names = await listDir(`${root}${path}`, machine.fileAccess);
    if (!names.ok) return;
    for (const name of names.value) {
      if (controlFile.test(name)) continue;
      const below = `${path}/${name}`;
      const owner = parseCgroupPath(below);
      if (owner.container !== undefined || owner.slurmJob !== undefined)
        found.push({ path: below, owner });
      else if (worthEntering(name)) await enter(below, depth + 1);
    }
  };
  await enter("", 0);
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}
