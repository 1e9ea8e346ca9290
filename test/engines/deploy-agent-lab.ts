// Starts the built agent like the chart's pod: its arguments, variables, user and capabilities, a read-only root
// filesystem, and a sysfs tree mounted at the chart's path. Without a cluster there is no seccomp profile and no cgroup
// limit.

import { chmodSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { renderChart } from "../../engines/helm.ts";
import { radeonFiles } from "../captures/amd-card.ts";
import { prefixed, type TreeFiles, writeTree } from "../captures/tree.ts";
import {
  type Container,
  manifestsOf,
  type PodSpec,
  type Workload,
  workloads,
} from "./deploy-chart.ts";

const NODE_NAME = "gpu-node-1";
const CARDS = 8;
const TICKS_PER_SECOND = 100;

/** Why such a pod cannot be started on this machine; undefined if it can. */
export async function whyNot(): Promise<string | undefined> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "needs root on Linux";
  const tried = await runProcess("unshare", ["--mount", "setpriv", "--version"]).catch(() => null);
  return tried?.code === 0 ? undefined : "needs unshare and setpriv, and the right to mount";
}

/** Eight cards in the driver's sysfs layout. */
function eightCards(): TreeFiles {
  const cards = Array.from({ length: CARDS }, (_, card) => {
    const slot = `0000:${(0x20 + card).toString(16)}:00.0`;
    return prefixed(`class/drm/card${card}/device`, {
      ...radeonFiles,
      uevent: `DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\nPCI_SLOT_NAME=${slot}`,
      unique_id: `5e3d11c0ffee00${(0x40 + card).toString(16)}`,
    });
  });
  return Object.assign({}, ...cards) as TreeFiles;
}

/** A root filesystem like an image's: the system's programs, ours under /app, nothing writable. */
const SCRIPT = `set -eu
root=$1 sysfs=$2 node=$3 user=$4; shift 4
mount -t tmpfs -o mode=755 tmpfs "$root"
for folder in /usr /etc /bin /sbin /lib /lib64 "$(dirname "$node")"; do
  if [ -L "$folder" ]; then cp -a "$folder" "$root$folder"
  elif [ -d "$folder" ] && [ ! -e "$root$folder/." ]; then
    mkdir -p "$root$folder"
    mount --bind "$folder" "$root$folder"
    mount -o remount,bind,ro "$root$folder"
  fi
done
mkdir -p "$root/proc" "$root/dev" "$root/app" "$root/host/sys" "$root/sys"
mount -t proc proc "$root/proc"
mount --bind "$APP" "$root/app"
mount -o remount,bind,ro "$root/app"
mount --bind "$sysfs" "$root/host/sys"
mount -o remount,bind,ro "$root/host/sys"
for device in null zero urandom; do touch "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mount -o remount,ro "$root"
exec chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all --bounding-set=-all \\
  --no-new-privs "$node" /app/bin/gpulse "$@"
`;

export interface ChartAgent {
  readonly url: string;
  readonly process: RunningProcess;
  readonly pod: PodSpec;
  readonly container: Container;
}

/** The AMD agent of the chart, on a free port. */
export async function startChartAgent(): Promise<ChartAgent> {
  const port = await freePort();
  const set = ["agent.vendors.nvidia.enabled=false", "agent.vendors.intel.enabled=false"];
  const text = await renderChart({
    release: "gp",
    namespace: "gpu",
    set: [...set, `agent.port=${port}`],
  });
  const [daemonSet] = workloads(manifestsOf(text)) as Workload[];
  const pod = daemonSet?.spec.template.spec;
  const container = pod?.containers[0];
  if (pod === undefined || container === undefined) throw new Error("BUG: the chart has no agent");
  const variables = Object.fromEntries(
    container.env.map(({ name, value }) => [name, value ?? NODE_NAME]),
  );
  const args = container.args.map((argument) => argument.replace("$(NODE_NAME)", NODE_NAME));

  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-pod-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const app = path.join(folder, "app");
  for (const part of ["bin", "dist/agent", "package.json"])
    await cp(path.join(repository, part), path.join(app, part), { recursive: true });
  const sysfs = writeTree(eightCards(), path.join(folder, "sys"));
  const root = path.join(folder, "root");
  await mkdir(root);
  const user = String(pod.securityContext.runAsUser);
  const apart = ["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"];
  const place = [root, sysfs, process.execPath, user];
  const started = startProcess("unshare", [...apart, ...place, ...args], {
    name: "the chart's agent",
    env: { ...variables, APP: app },
  });
  onTestFinished(async () => void (await started.stop(20_000)));
  return { url: `http://127.0.0.1:${port}`, process: started, pod, container };
}

export interface Confinement {
  readonly user: string;
  readonly capabilities: string;
  readonly noNewPrivileges: boolean;
  readonly readOnlyRoot: boolean;
}

/** The kernel's view of the running process. */
export function confinementOf(pid: number): Confinement {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name: string): string =>
    new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "";
  const root = readFileSync(`/proc/${pid}/mountinfo`, "utf8")
    .split("\n")
    .find((line) => line.split(" ")[4] === "/");
  return {
    user: field("Uid").split("\t")[0] ?? "",
    capabilities: field("CapEff"),
    noNewPrivileges: field("NoNewPrivs") === "1",
    readOnlyRoot: root?.split(" ")[5]?.split(",").includes("ro") ?? false,
  };
}

/** CPU time so far, of all threads. */
function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** All resident pages: the upper bound of what counts toward a pod's limit. */
function residentBytesOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

const SCRAPE_EVERY_MS = 5_000;

export interface Budget {
  readonly seconds: number;
  /** CPU time per wall-clock time: 0.2 is the chart's 200m. */
  readonly cores: number;
  readonly peakBytes: number;
}

/** Measures the agent under a cluster's load: a scrape every five seconds, and both probes. */
export async function watchAgent(agent: ChartAgent, seconds: number): Promise<Budget> {
  const { pid } = agent.process;
  const startedMs = performance.now();
  const before = cpuSecondsOf(pid);
  let peakBytes = 0;
  while (performance.now() - startedMs < seconds * 1000) {
    await sleep(SCRAPE_EVERY_MS);
    await Promise.all(["/metrics", "/healthz", "/readyz"].map((at) => answerOf(agent, at)));
    peakBytes = Math.max(peakBytes, residentBytesOf(pid));
  }
  const passed = (performance.now() - startedMs) / 1000;
  return { seconds: passed, cores: (cpuSecondsOf(pid) - before) / passed, peakBytes };
}

/** Returns the body of a successful response; anything else fails the test. */
export async function answerOf({ url, process: agent }: ChartAgent, at: string): Promise<string> {
  const response = await fetch(`${url}${at}`);
  const body = await response.text();
  if (!response.ok) throw new Error(`${at}: ${response.status} ${body}\n${agent.output()}`);
  return body;
}

export function budgetLine({ seconds, cores, peakBytes }: Budget): string {
  const used = `${(cores * 1000).toFixed(0)}m CPU, ${(peakBytes / 1_048_576).toFixed(0)} Mi at most`;
  return `the chart's agent, ${CARDS} cards, ${seconds.toFixed(0)} s: ${used}\n`;
}
