import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { silentLog } from "../../base/log.ts";
import { type FileAccess, hostFileAccess } from "../sysfs/file-access.ts";
import { parseEnviron, parsePasswd, parseStat, parseUid } from "./proc.ts";
import { createOwnerResolver } from "./resolver.ts";

const id = "4f".repeat(32);
const uid = "0fe31c0a-1b2c-4d5e-8f90-a1b2c3d4e5f6";
let folder = "";
let nowMs = 0;
let reads: string[] = [];
let refused = "";

/** Records opened paths, and fails for one kind of file as the kernel does for another user's process. */
const fileAccess: FileAccess = {
  ...hostFileAccess,
  bytes: (path, maxBytes) => {
    reads.push(path);
    return refused !== "" && path.endsWith(refused)
      ? Promise.reject(Object.assign(new Error("no"), { code: "EACCES" }))
      : hostFileAccess.bytes(path, maxBytes);
  },
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-owners-"));
  nowMs = 0;
  reads = [];
  refused = "";
  await writeFile(
    join(folder, "passwd"),
    "root:x:0:0::/:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n",
  );
});
afterEach(() => rm(folder, { recursive: true }));

const stat = (pid: number, name: string, start: number): string =>
  `${pid} (${name}) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 ${start} 1000 200`;

async function process(
  pid: number,
  cgroup: string,
  environ = "",
  name = "python3 (x) y",
  start = 55,
) {
  const path = join(folder, "proc", String(pid));
  await mkdir(path, { recursive: true });
  await writeFile(join(path, "stat"), stat(pid, name, start));
  await writeFile(join(path, "cgroup"), cgroup);
  await writeFile(join(path, "environ"), environ);
  await writeFile(join(path, "status"), "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\n");
}

const resolver = () =>
  createOwnerResolver({
    procfs: join(folder, "proc"),
    nowMs: () => nowMs,
    log: silentLog,
    fileAccess,
    kubeletSocket: join(folder, "none.sock"),
    containerLogs: join(folder, "containers"),
    passwd: join(folder, "passwd"),
  });

const none = { known: false, reason: "none" };

test("a process outside any container has a user, a name, and known nothings", async () => {
  await process(7, "0::/user.slice/user-1000.slice/session-3.scope\n");
  expect(await resolver().resolve(7)).toEqual({
    pid: 7,
    process: { known: true, value: "python3 (x) y" },
    user: { known: true, value: "ada" },
    runtime: none,
    containerId: none,
    containerName: none,
    podUid: none,
    pod: none,
    namespace: none,
    workload: { known: true, value: "command:python3 (x) y" },
  });
});

test("a process in a pod is named by the log folder, and says so where that is not here", async () => {
  await process(8, `0::/kubepods/burstable/pod${uid}/${id}\n`);
  const missing = await resolver().resolve(8);
  expect(missing).toMatchObject({
    containerId: { value: id },
    podUid: { value: uid },
    pod: { reason: "unavailable" },
  });
  await mkdir(join(folder, "containers"));
  await writeFile(join(folder, "containers", `train-0_research_main-${id}.log`), "");
  expect(await resolver().resolve(8)).toMatchObject({
    pod: { value: "train-0" },
    namespace: { value: "research" },
    containerName: { value: "main" },
  });
});

test.each([
  ["WANDB_RUN_ID=3x1abc\0", "wandb:3x1abc"],
  ["MLFLOW_RUN_ID=9f8e\0", "mlflow:9f8e"],
  ["WANDB_RUN_ID=3x1abc\0GPULSE_JOB=nightly\0", "job:nightly"],
  ["GPULSE_JOB=nightly\0SLURM_JOB_ID=42\0", "42"],
])("%j names the job %s", async (environ, workload) => {
  await process(11, "0::/\n", environ);
  expect(await resolver().resolve(11)).toMatchObject({ workload: { value: workload } });
});

test("a Slurm job is read off the cgroup, else off the environment; a denied environment is its reason", async () => {
  await process(9, "0::/system.slice/slurmstepd.scope/job_41/step_0\n", "SLURM_JOB_ID=42\0");
  await process(10, "0::/\n", "HOME=/h\0SLURM_JOB_ID=42\0SLURM_JOB_USER=grace\0");
  const owners = resolver();
  expect(await owners.resolve(9)).toMatchObject({ workload: { value: "41" } });
  expect(await owners.resolve(10)).toMatchObject({
    workload: { value: "42" },
    user: { value: "grace" },
  });
  refused = "/environ";
  expect(await resolver().resolve(10)).toMatchObject({
    workload: { known: false, reason: "denied" },
    user: { value: "ada" },
  });
});

test("a service of systemd is the job of its processes, unless they name another", async () => {
  await process(12, "0::/system.slice/ollama.service\n");
  expect(await resolver().resolve(12)).toMatchObject({ workload: { value: "unit:ollama" } });
  await process(13, "0::/system.slice/ollama.service\n", "GPULSE_JOB=nightly\0");
  expect(await resolver().resolve(13)).toMatchObject({ workload: { value: "job:nightly" } });
});

test("the command names the job where nothing else does, and not in a container", async () => {
  await process(14, "0::/user.slice/user-1000.slice/session-3.scope\n", "", "python3");
  expect(await resolver().resolve(14)).toMatchObject({ workload: { value: "command:python3" } });
  await process(15, `0::/system.slice/docker-${"a".repeat(64)}.scope\n`);
  expect(await resolver().resolve(15)).toMatchObject({ workload: { known: false } });
});

test("a process that has ended is gone, not empty", async () => {
  await mkdir(join(folder, "proc"));
  const owner = await resolver().resolve(99);
  expect(owner.pod).toEqual({ known: false, reason: "gone" });
  expect(owner.user).toEqual({ known: false, reason: "gone" });
});

test("an answer is kept until it is old or the pid belongs to another process", async () => {
  await process(7, "0::/a\n");
  const owners = resolver();
  const first = await owners.resolve(7);
  reads = [];
  expect(await owners.resolve(7)).toBe(first);
  expect(reads).toEqual([join(folder, "proc/7/stat")]);
  nowMs = 61_000;
  expect(await owners.resolve(7)).not.toBe(first);
  await process(7, `0::/docker/${id}\n`, "", "other", 77);
  expect(await owners.resolve(7)).toMatchObject({ containerId: { value: id } });
});

test("without a kubelet the holders of a device are unavailable, not nobody", async () => {
  const owners = resolver();
  await owners.refresh();
  expect(owners.podOfDevice({ uuid: "GPU-1", vendor: "nvidia" })).toEqual({
    known: false,
    reason: "unavailable",
  });
});

test("only what is asked for leaves an environment", () => {
  const bytes = Buffer.from("AWS_SECRET=x\0SLURM_JOB_ID=7\0SLURM_JOB_ID=8\0SLURM_JOB_USER=a b\0");
  expect(parseEnviron(bytes)).toEqual({ SLURM_JOB_ID: "7" });
});

test(
  "whatever the bytes, the files of a process end in a value or nothing",
  () =>
    fuzz({
      seed: 21,
      samples: [
        stat(7, "a) b", 5),
        "Name:\tx\nUid:\t1\t2\n",
        "root:x:0:0::/:/bin/sh\n",
        "HOME=/\0SLURM_JOB_ID=42\0",
      ],
      parse: (bytes) => {
        const text = bytes.toString("utf8");
        return [parseStat(text), parseUid(text), parsePasswd(text), parseEnviron(bytes)];
      },
    }),
  fuzzTimeoutMs,
);
