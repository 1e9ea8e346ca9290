import { expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import {
  type CgroupOwner,
  ownerOfCgroups,
  parseCgroupFile,
  parseCgroupPath,
  type Runtime,
} from "./cgroup.ts";

const id = "4f".repeat(32);
const inner = "a7".repeat(32);
const uid = "0fe31c0a-1b2c-4d5e-8f90-a1b2c3d4e5f6";
const uid_ = uid.replaceAll("-", "_");
const docker = { runtime: "docker", container: id } as const;
const pod = (runtime: Runtime, container = id) => ({
  runtime,
  container,
  podUid: uid,
});

const paths: readonly (readonly [string, CgroupOwner])[] = [
  ["/", {}],
  ["/init.scope", {}],
  ["/user.slice/user-1000.slice/session-3.scope", {}],
  ["/system.slice/docker.service", {}],
  // Services of systemd: system and user.
  ["/system.slice/ollama.service", { unit: "ollama" }],
  ["/system.slice/system-vllm.slice/vllm@llama\\x2d70b.service", { unit: "vllm@llama-70b" }],
  [
    "/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service/kernel",
    { unit: "jupyter" },
  ],
  ["/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-term-7.scope", {}],
  ["/system.slice/cron.service", {}],
  ["/system.slice/slurmd.service", {}],
  [`/system.slice/stack.service/docker/${id}`, docker],
  // Docker: cgroupfs, systemd, rootless, as seen from another cgroup namespace, nested.
  [`/docker/${id}`, docker],
  [`/system.slice/docker-${id}.scope`, docker],
  [`/user.slice/user-1000.slice/user@1000.service/user.slice/docker-${id}.scope`, docker],
  [`/../../system.slice/docker-${id}.scope`, docker],
  [`/docker/${inner}/docker/${id}`, docker],
  [`/system.slice/docker-${id}.scope/init`, docker],
  // containerd without Kubernetes.
  [`/system.slice/nerdctl-${id}.scope`, { runtime: "containerd", container: id }],
  [`/default/${id}`, { runtime: "containerd", container: id }],
  // Podman: as root, as a user, its monitor.
  [`/machine.slice/libpod-${id}.scope/container`, { runtime: "podman", container: id }],
  [
    `/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-${id}.scope`,
    { runtime: "podman", container: id },
  ],
  [`/libpod_parent/libpod-${id}`, { runtime: "podman", container: id }],
  [`/machine.slice/libpod-conmon-${id}.scope`, {}],
  // Kubernetes, cgroupfs driver: guaranteed, burstable, best effort.
  [`/kubepods/pod${uid}/${id}`, pod("unknown")],
  [`/kubepods/burstable/pod${uid}/${id}`, pod("unknown")],
  [`/kubepods/besteffort/pod${uid}/${id}`, pod("unknown")],
  // Kubernetes, systemd driver: containerd, CRI-O, Docker; kind and k3s prefixes.
  [`/kubepods.slice/kubepods-pod${uid_}.slice/cri-containerd-${id}.scope`, pod("containerd")],
  [
    `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid_}.slice/cri-containerd-${id}.scope`,
    pod("containerd"),
  ],
  [
    `/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${uid_}.slice/crio-${id}.scope`,
    pod("cri-o"),
  ],
  [
    `/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${uid_}.slice/crio-conmon-${id}.scope`,
    { podUid: uid },
  ],
  [
    `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid_}.slice/docker-${id}.scope`,
    pod("docker"),
  ],
  [
    `/docker/${inner}/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod${uid_}.slice/cri-containerd-${id}.scope`,
    pod("containerd"),
  ],
  [
    `/system.slice/containerd.service/kubepods-burstable-pod${uid_}.slice:cri-containerd:${id}`,
    pod("containerd"),
  ],
  // A container of a pod that runs containers of its own: the pod's is the owner.
  [`/kubepods/burstable/pod${uid}/${id}/docker/${inner}`, pod("unknown")],
  // The UID of a static pod is a hash.
  [
    `/kubepods/burstable/pod${"0a".repeat(16)}/${id}`,
    { runtime: "unknown", container: id, podUid: "0a".repeat(16) },
  ],
  // systemd-nspawn and LXC.
  ["/machine.slice/machine-build\\x2dbox.scope", { runtime: "nspawn", container: "build-box" }],
  ["/machine.slice/systemd-nspawn@db.service/payload", { runtime: "nspawn", container: "db" }],
  ["/lxc/web/init.scope", { runtime: "lxc", container: "web" }],
  ["/lxc.payload.web/system.slice", { runtime: "lxc", container: "web" }],
  // Slurm: version 1, version 2, several slurmd per host, batch step.
  [
    "/slurm/uid_1000/job_4711/step_0/task_0",
    { runtime: "slurm", slurmJob: "4711", slurmStep: "0" },
  ],
  [
    "/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0",
    { runtime: "slurm", slurmJob: "4711", slurmStep: "batch" },
  ],
  [
    "/slurm_node1/uid_7/job_8/step_extern",
    { runtime: "slurm", slurmJob: "8", slurmStep: "extern" },
  ],
  [
    "/system.slice/node1_slurmstepd.scope/job_8/step_3/user/task_1",
    { runtime: "slurm", slurmJob: "8", slurmStep: "3" },
  ],
  [
    `/system.slice/slurmstepd.scope/job_9/step_0/user/docker/${id}`,
    { runtime: "docker", container: id, slurmJob: "9", slurmStep: "0" },
  ],
  ["/batch/job_9/step_1", {}],
  // Paths that only resemble a container's.
  [`/docker/${id.slice(1)}`, {}],
  ["/kubepods/burstable/podnothing", {}],
];

test.each(paths)("%s", (path, owner) => expect(parseCgroupPath(path)).toEqual(owner));

test("a version 1 file names a path per hierarchy; the one that reports is found, whichever it is", () => {
  const text = `12:pids:/\n4:memory:/docker/${id}\n1:name=systemd:/init.scope\n0::/\nnonsense`;
  expect(parseCgroupFile(text)).toEqual(["/", "/init.scope", `/docker/${id}`]);
  expect(ownerOfCgroups(parseCgroupFile(text))).toEqual(docker);
});

test("facts of several hierarchies are put together", () => {
  expect(ownerOfCgroups([`/docker/${id}`, "/slurm/uid_0/job_5"])).toEqual({
    ...docker,
    slurmJob: "5",
  });
});

test(
  "whatever the bytes, a cgroup file ends in an owner",
  () =>
    fuzz({
      seed: 11,
      samples: paths.map(([path]) => `0::${path}\n4:memory:${path}\n`),
      parse: (bytes) => ownerOfCgroups(parseCgroupFile(bytes.toString("utf8"))),
    }),
  fuzzTimeoutMs,
);
