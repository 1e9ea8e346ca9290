/** A machine as a folder, for tests: the /proc and /sys of a two-socket server with containers of several kinds. */
import { symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "../../base/make-folder.ts";

export type Tree = Readonly<Record<string, string | { readonly link: string }>>;

export async function writeTree(root: string, tree: Tree): Promise<void> {
  for (const [path, content] of Object.entries(tree)) {
    const full = join(root, path);
    await makeFolder(dirname(full));
    if (typeof content === "string") await writeFile(full, content);
    else await symlink(content.link, full);
  }
}

const ids = { web: "1a".repeat(32), main: "2b".repeat(32), side: "3c".repeat(32) };
export const podUid = "0fe31c0a-1b2c-4d5e-8f90-a1b2c3d4e5f6";
const podSlice = `kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${podUid.replaceAll("-", "_")}.slice`;
export const containerPaths = {
  web: `system.slice/docker-${ids.web}.scope`,
  main: `${podSlice}/cri-containerd-${ids.main}.scope`,
  side: `${podSlice}/cri-containerd-${ids.side}.scope`,
  job: "system.slice/slurmstepd.scope/job_4711",
};
export const containerIds = ids;

const thread = (processor: number, socket: number, core: number): string =>
  `processor\t: ${processor}\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)  Platinum 8480C\nphysical id\t: ${socket}\ncore id\t\t: ${core}\n\n`;

const netDev = (interfaces: Readonly<Record<string, readonly number[]>>): string =>
  `Inter-|   Receive                    |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n${Object.entries(
    interfaces,
  )
    .map(
      ([
        name,
        [
          rx = 0,
          rxPackets = 0,
          rxErrors = 0,
          rxDrops = 0,
          tx = 0,
          txPackets = 0,
          txErrors = 0,
          txDrops = 0,
        ],
      ]) =>
        `${name.padStart(6)}: ${rx} ${rxPackets} ${rxErrors} ${rxDrops} 0 0 0 0 ${tx} ${txPackets} ${txErrors} ${txDrops} 0 0 0 0\n`,
    )
    .join("")}`;

const stat = (pid: number, startTicks: number): string =>
  `${pid} (main (1)) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 ${startTicks} 1000 200`;

const container = (path: string, files: Readonly<Record<string, string>>): Tree =>
  Object.fromEntries(
    Object.entries(files).map(([name, text]) => [`sys/fs/cgroup/${path}/${name}`, text]),
  );

const process = (pid: number, network: number, startTicks: number, bytes: number): Tree => ({
  [`proc/${pid}/stat`]: stat(pid, startTicks),
  [`proc/${pid}/ns/net`]: { link: `net:[${network}]` },
  [`proc/${pid}/net/dev`]: netDev({
    lo: [9, 9, 0, 0, 9, 9],
    eth0: [bytes, 4, 1, 2, bytes * 2, 5, 3, 6],
  }),
});

export const machineTree: Tree = {
  "proc/stat":
    "cpu  1000 200 300 40000 50 6 7 8 900 90\ncpu0 500 100 150 20000 25 3 3 4 450 45\nintr 1 2 3\nctxt 123456\nbtime 1700000000\nprocesses 99\nprocs_running 3\nprocs_blocked 1\n",
  "proc/loadavg": "0.31 0.42 1.50 1/94 16410\n",
  "proc/meminfo":
    "MemTotal:       1000 kB\nMemFree:         200 kB\nMemAvailable:    600 kB\nCached:          300 kB\nSwapTotal:        50 kB\nSwapFree:         40 kB\nHugePages_Total:       0\n",
  "proc/cpuinfo":
    thread(0, 0, 0) + thread(1, 0, 1) + thread(2, 1, 0) + thread(3, 1, 1) + thread(4, 0, 0),
  "proc/sys/kernel/osrelease": "6.8.0-test\n",
  "proc/diskstats":
    "   7       0 loop0 1 0 2 3 0 0 0 0 0 3 3\n 259       0 nvme0n1 100 1 2000 30 40 2 5000 60 0 70 90 0 0 0 0 5 6\n 259       1 nvme0n1p1 90 1 1900 30 40 2 5000 60 0 70 90\n 253       0 dm-0 100 0 2000 30 40 0 5000 60 0 70 90\n",
  "sys/block/loop0/size": "0",
  "sys/block/nvme0n1/device/model": "disk",
  "sys/block/dm-0/size": "9",
  "proc/1/net/dev": netDev({
    lo: [1, 1, 0, 0, 1, 1],
    ens3: [1_000, 10, 1, 2, 2_000, 20, 3, 4],
    docker0: [5, 5, 0, 0, 5, 5],
  }),
  "proc/1/ns/net": { link: "net:[4026531992]" },
  "sys/class/net/ens3/device/vendor": "0x8086",
  "sys/class/net/ens3/speed": "25000\n",
  "sys/class/net/docker0/speed": "-1\n",
  "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3800000\n",
  "proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n",
  "proc/pressure/memory":
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n",
  "proc/1/mountinfo":
    "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n23 22 0:21 / /proc rw - proc proc rw\n24 22 0:22 / /run rw - tmpfs tmpfs rw\n25 22 259:1 /x /mnt/bound rw - ext4 /dev/nvme0n1p1 rw\n26 22 253:0 / /data\\040disk rw - xfs /dev/mapper/vg-data rw\n27 22 0:50 / /nfs rw - nfs4 server:/x rw\n28 22 7:0 / /snap/x ro - squashfs /dev/loop0 ro\n29 22 0:60 / /sub rw - btrfs /dev/sdb rw\n30 22 0:61 / /sub/deeper rw - btrfs /dev/sdb rw\n",
  "proc/1/root/etc/os-release": 'NAME="Test"\nPRETTY_NAME="Test Linux 1"\n',
  "sys/class/hwmon/hwmon0/name": "coretemp\n",
  "sys/class/hwmon/hwmon0/device": { link: "../../../coretemp.0" },
  "sys/class/hwmon/hwmon0/temp1_input": "54000\n",
  "sys/class/hwmon/hwmon0/temp1_label": "Package id 0\n",
  "sys/class/hwmon/hwmon0/temp2_input": "51500\n",
  "sys/class/hwmon/hwmon0/temp2_label": "Core 0\n",
  "sys/class/hwmon/hwmon1/name": "nvme\n",
  "sys/class/hwmon/hwmon1/device": { link: "../../nvme0" },
  "sys/class/hwmon/hwmon1/temp1_input": "38850\n",
  "sys/class/hwmon/hwmon1/temp1_label": "Composite\n",
  "sys/class/hwmon/hwmon2/name": "amdgpu\n",
  "sys/class/hwmon/hwmon2/temp1_input": "60000\n",
  "sys/class/hwmon/hwmon3/name": "drivetemp\n",
  "sys/class/hwmon/hwmon3/temp1_input": "30000\n",
  "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory pids\n",
  "sys/fs/cgroup/system.slice/ssh.service/cgroup.procs": "77\n",
  "sys/fs/cgroup/user.slice/cpu.stat": "usage_usec 1\n",
  ...container(containerPaths.web, {
    "cpu.stat":
      "usage_usec 2500000\nuser_usec 1\nsystem_usec 1\nnr_throttled 1\nthrottled_usec 125000\n",
    "cpu.max": "150000 100000\n",
    "memory.current": "1000000\n",
    "memory.max": "4000000\n",
    "memory.stat": "anon 5\nfile 6\ninactive_file 200000\n",
    "memory.events": "low 0\nhigh 0\nmax 1\noom 1\noom_kill 2\n",
    "io.stat":
      "259:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=0 dios=0\n8:0 rbytes=1 wbytes=2 rios=1 wios=1 dbytes=0 dios=0\n",
    "cgroup.procs": "210\n200\n",
  }),
  ...container(containerPaths.main, {
    "cpu.stat": "usage_usec 1000000\n",
    "cpu.max": "max 100000\n",
    "memory.current": "50\n",
    "memory.max": "max\n",
    "memory.stat": "inactive_file 100\n",
    "io.stat": "",
    "cgroup.procs": "300\n",
  }),
  ...container(containerPaths.side, { "cpu.stat": "usage_usec 1\n", "cgroup.procs": "301\n" }),
  ...container(containerPaths.job, { "cpu.stat": "usage_usec 7000000\n", "cgroup.procs": "" }),
  ...process(200, 4_026_532_001, 1_000, 700),
  ...process(300, 4_026_532_002, 2_000, 800),
  ...process(301, 4_026_532_002, 2_100, 800),
  [`proc/1/root/var/log/containers/train-0_research_main-${ids.main}.log`]: "",
};
