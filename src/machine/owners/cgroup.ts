/**
 * Derives a process's owner from its cgroup path alone. Pure. Every runtime writes the path in its own format, each of which has
 * a line in the tests; an unknown path has no owner and is never guessed.
 */

export type Runtime =
  | "docker"
  | "containerd"
  | "cri-o"
  | "podman"
  | "nspawn"
  | "lxc"
  | "slurm"
  | "unknown";

export interface CgroupOwner {
  readonly runtime?: Runtime;
  /** The runtime's full id (64 hex digits), or the container's name if it has no id. */
  readonly container?: string;
  /** In Kubernetes' format, with dashes. */
  readonly podUid?: string;
  readonly slurmJob?: string;
  readonly slurmStep?: string;
  /** The systemd service that started it, without `.service`; a container and its runtime do not count as services. */
  readonly unit?: string;
}

/** `/proc/PID/cgroup`: `0::/path` for version 2, `4:memory:/path` for each hierarchy of version 1. */
export function parseCgroupFile(text: string): readonly string[] {
  const paths: string[] = [];
  for (const line of text.split("\n").slice(0, 64)) {
    const match = /^(\d{1,6}):([^:]*):(\/.*)$/.exec(line);
    if (match?.[3] === undefined) continue;
    // Version 2 and systemd's own hierarchy first: they have the full path even if controllers stay at the root.
    if (match[1] === "0" || match[2] === "name=systemd") paths.unshift(match[3]);
    else paths.push(match[3]);
  }
  return [...new Set(paths)];
}

/** The facts of the first path, completed by those of the others (Slurm and a container may be in different hierarchies). */
export function ownerOfCgroups(paths: readonly string[]): CgroupOwner {
  let owner: CgroupOwner = {};
  for (const path of paths) owner = { ...parseCgroupPath(path), ...owner };
  return owner;
}

const hexId = /^[0-9a-f]{64}$/;
/** `cri-containerd-ID.scope`, `docker-ID.scope`, `crio-ID.scope`, `libpod-ID.scope`, `nerdctl-ID.scope`, also without .scope. */
const scopeId = /^(?:([a-z][a-z-]{0,30})-)?([0-9a-f]{64})(?:\.scope)?$/;
/** `kubepods-burstable-podUID.slice` with underscores, or `podUID` with dashes; kind and k3s add their own prefix. */
const podSlice =
  /(?:^|-)pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?$/;

const runtimeOfPrefix: Readonly<Record<string, Runtime>> = {
  docker: "docker",
  "cri-containerd": "containerd",
  nerdctl: "containerd",
  crio: "cri-o",
  libpod: "podman",
};

export function parseCgroupPath(path: string): CgroupOwner {
  const segments = path.slice(0, 4_096).split("/").filter(Boolean);
  const owner: MutableOwner = {};
  for (const [index, segment] of segments.entries()) {
    // A pod's own container is the first one below the pod; without a pod, the innermost container is the process's.
    if (owner.podUid !== undefined && owner.container !== undefined) break;
    const before = segments[index - 1] ?? "";
    // Old containerd with a systemd path but without its driver: `…-podUID.slice:cri-containerd:ID`.
    const [slice = "", prefix, id] = segment.split(":");
    const pod = podSlice.exec(slice)?.[1];
    if (pod !== undefined) {
      owner.podUid = withDashes(pod);
      delete owner.container;
      delete owner.runtime;
    }
    if (id !== undefined && prefix !== undefined && hexId.test(id)) {
      owner.container = id;
      owner.runtime = ownRuntime(prefix) ?? "unknown";
      continue;
    }
    takeContainer(owner, segment, before);
    takeSlurm(owner, segment, segments.slice(0, index));
    takeUnit(owner, segment);
  }
  if (owner.container !== undefined || owner.podUid !== undefined) delete owner.unit;
  if (owner.slurmJob !== undefined) owner.runtime ??= "slurm";
  return owner;
}

type MutableOwner = { -readonly [key in keyof CgroupOwner]: CgroupOwner[key] };

function takeContainer(owner: MutableOwner, segment: string, before: string): void {
  const scope = scopeId.exec(segment);
  if (scope?.[2] !== undefined) {
    const prefix = scope[1] ?? "";
    // conmon monitors the container from outside; its cgroup is not the container's.
    if (prefix.endsWith("conmon")) return;
    owner.container = scope[2];
    owner.runtime = ownRuntime(prefix) ?? runtimeOfParent(before);
    return;
  }
  const machine =
    /^machine-(.{1,128})\.scope$/.exec(segment)?.[1] ??
    /^systemd-nspawn@(.{1,128})\.service$/.exec(segment)?.[1];
  if (machine !== undefined && before === "machine.slice") {
    owner.container = unescapeUnit(machine);
    owner.runtime = "nspawn";
    return;
  }
  const lxc =
    /^lxc\.payload\.(.{1,128})$/.exec(segment)?.[1] ?? (before === "lxc" ? segment : undefined);
  if (lxc !== undefined) {
    owner.container = lxc;
    owner.runtime = "lxc";
  }
}

const ownRuntime = (prefix: string): Runtime | undefined =>
  Object.hasOwn(runtimeOfPrefix, prefix) ? runtimeOfPrefix[prefix] : undefined;

/** The cgroupfs driver writes the bare id, so the parent folder identifies the runtime. */
function runtimeOfParent(before: string): Runtime {
  if (before === "docker" || before.endsWith("docker")) return "docker";
  if (before.startsWith("libpod")) return "podman";
  if (before === "default" || before === "k8s.io" || before === "moby") return "containerd";
  // Directly below a pod's folder, the paths of Docker, containerd and CRI-O do not differ.
  return "unknown";
}

/**
 * Version 1: `/slurm/uid_1000/job_123/step_0/task_0`; version 2: `/system.slice/slurmstepd.scope/job_123/step_0/user/task_0`;
 * with several slurmd per host the node's name is added: `/slurm_node1/…`, `node1_slurmstepd.scope`.
 */
function takeSlurm(owner: MutableOwner, segment: string, before: readonly string[]): void {
  const job = /^job_(\d{1,20})$/.exec(segment)?.[1];
  if (job !== undefined && before.some((part) => /^slurm|slurmstepd\.scope$/.test(part))) {
    owner.slurmJob = job;
    return;
  }
  const step = /^step_(\w{1,32})$/.exec(segment)?.[1];
  if (step !== undefined && owner.slurmJob !== undefined) owner.slurmStep = step;
}

/** Services that start other users' work; a process directly in one of them has no owner by this rule. */
const runsOthers =
  /^(user@.*|slurmd.*|docker|containerd|crio|kubelet|podman.*|systemd-nspawn@.*|ssh.*|cron|atd)$/;

/**
 * `/system.slice/ollama.service`, `/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service`: the innermost service wins.
 */
function takeUnit(owner: MutableOwner, segment: string): void {
  const unit = /^(.{1,128})\.service$/.exec(segment)?.[1];
  if (unit !== undefined && !runsOthers.test(unit)) owner.unit = unescapeUnit(unit);
}

/** systemd writes a dash in a name as \x2d. */
function unescapeUnit(text: string): string {
  return text.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** The UID of a static pod is a hash without dashes and stays unchanged. */
const withDashes = (uid: string): string => uid.replaceAll("_", "-");
