/** Containers by their version 2 cgroups: processor, memory, disk, network, limits, and how many came and went. Bounded in number. */
import { host } from "../../model/catalogue/index.ts";
import { valueOf } from "../../owners/attribution.ts";
import { containerLogFolder, PodNames } from "../../owners/kubelet/pod-names.ts";
import { parseStat } from "../../owners/proc.ts";
import { readLink, readText } from "../../sysfs/read.ts";
import type { Reading } from "../../sysfs/reading.ts";
import { failed, mapReading, present, unsupported } from "../../sysfs/reading.ts";
import { lowestPid, parseCpuMax, parseFlatKeyed, parseIoStat, parseLimit } from "./cgroup-files.ts";
import type { FoundContainer } from "./container-walk.ts";
import { findCgroupRoot, findContainers } from "./container-walk.ts";
import type { Machine } from "./machine.ts";
import { rootOf } from "./machine.ts";
import type { NetworkCounts, TrafficCounts } from "./proc.ts";
import { parseNetDev, ticksPerSecond } from "./proc.ts";
import { parsed, part, readProcStat } from "./processor.ts";
import type { Labels, Samples } from "./samples.ts";
import { capped } from "./samples.ts";

const directions = ["receive", "transmit"] as const;

export class Containers {
  readonly #machine: Machine;
  readonly #limit: number;
  readonly #names: PodNames;
  #known: ReadonlySet<string> | undefined;
  #starts = 0;
  #stops = 0;
  leftOut = 0;

  constructor(machine: Machine, limit: number) {
    this.#machine = machine;
    this.#limit = limit;
    const logs = `${rootOf(machine)}${containerLogFolder}`;
    this.#names = new PodNames(logs, machine.nowMs, machine.door);
  }

  async add(samples: Samples): Promise<void> {
    const root = await findCgroupRoot(this.#machine);
    const found = root.ok ? await findContainers(this.#machine, root.value) : [];
    this.#count(found);
    samples.add(
      host.containers,
      mapReading(root, () => found.length),
    );
    samples.add(
      host.containerStarts,
      mapReading(root, () => this.#starts),
    );
    samples.add(
      host.containerStops,
      mapReading(root, () => this.#stops),
    );
    if (!root.ok) return;
    const [shown, leftOut] = capped(found, this.#limit);
    this.leftOut = leftOut;
    const boot = part(await readProcStat(this.#machine), ({ bootSeconds }) => bootSeconds);
    const ownNetwork = await this.#networkOf(1);
    const networks = new Set<string>(ownNetwork.ok ? [ownNetwork.value] : []);
    for (const container of shown) {
      const labels = await this.#labels(container);
      const folder = `${root.value}${container.path}`;
      await this.#addCgroup(folder, labels, samples);
      const pid = await this.#firstPid(folder);
      samples.add(host.containerStartTime, await this.#startTime(pid, boot), labels);
      await this.#addNetwork(pid, ownNetwork, networks, labels, samples);
    }
  }

  /** What runs when we first look did not start before our eyes. */
  #count(found: readonly FoundContainer[]): void {
    const now = new Set(found.map(({ path }) => path));
    const before = this.#known;
    this.#known = now;
    if (before === undefined) return;
    for (const path of now) if (!before.has(path)) this.#starts++;
    for (const path of before) if (!now.has(path)) this.#stops++;
  }

  async #labels({ owner }: FoundContainer): Promise<Labels> {
    const names =
      owner.podUid !== undefined && owner.container !== undefined
        ? valueOf(await this.#names.of(owner.container))
        : undefined;
    const container = owner.container;
    return {
      container:
        container !== undefined && /^[0-9a-f]{64}$/.test(container)
          ? container.slice(0, 12)
          : container,
      runtime: owner.runtime,
      container_name: names?.container,
      pod: names?.pod,
      namespace: names?.namespace,
      pod_uid: owner.podUid,
      workload: owner.slurmJob,
    };
  }

  async #addCgroup(folder: string, labels: Labels, samples: Samples): Promise<void> {
    const { door } = this.#machine;
    const file = (name: string, bytes = 4_096) => readText(`${folder}/${name}`, bytes, door);
    const [cpu, cpuMax, memory, memoryMax, memoryStat, events, io] = await Promise.all([
      file("cpu.stat"),
      file("cpu.max"),
      file("memory.current"),
      file("memory.max"),
      file("memory.stat", 8_192),
      file("memory.events"),
      file("io.stat", 65_536),
    ]);
    const times = mapReading(cpu, parseFlatKeyed);
    const seconds = (key: string) =>
      mapReading(
        part(times, (values) => values.get(key)),
        (micros) => micros / 1e6,
      );
    samples.add(host.containerCpuSeconds, seconds("usage_usec"), labels);
    samples.add(host.containerCpuThrottledSeconds, seconds("throttled_usec"), labels);
    samples.add(host.containerCpuLimit, limitOf(cpuMax, parseCpuMax), labels);
    const used = limitOf(memory, parseLimit);
    samples.add(host.containerMemory, used, labels);
    const idle = part(mapReading(memoryStat, parseFlatKeyed), (values) =>
      values.get("inactive_file"),
    );
    const working = idle.ok ? mapReading(used, (bytes) => Math.max(0, bytes - idle.value)) : idle;
    samples.add(host.containerMemoryWorkingSet, working, labels);
    samples.add(host.containerMemoryLimit, limitOf(memoryMax, parseLimit), labels);
    const kills = part(mapReading(events, parseFlatKeyed), (values) => values.get("oom_kill"));
    samples.add(host.containerOomKills, kills, labels);
    const disk = mapReading(io, parseIoStat);
    const read = { ...labels, action: "read" };
    const write = { ...labels, action: "write" };
    samples.add(
      host.containerDiskBytes,
      mapReading(disk, ({ readBytes }) => readBytes),
      read,
    );
    samples.add(
      host.containerDiskBytes,
      mapReading(disk, ({ writtenBytes }) => writtenBytes),
      write,
    );
    samples.add(
      host.containerDiskOperations,
      mapReading(disk, ({ reads }) => reads),
      read,
    );
    samples.add(
      host.containerDiskOperations,
      mapReading(disk, ({ writes }) => writes),
      write,
    );
  }

  /** Some runtimes keep the processes one folder further down. */
  async #firstPid(folder: string): Promise<Reading<number>> {
    for (const below of ["", "/container", "/init.scope", "/payload", "/supervisor"]) {
      const text = await readText(`${folder}${below}/cgroup.procs`, 65_536, this.#machine.door);
      const pid = text.ok ? lowestPid(text.value) : undefined;
      if (pid !== undefined) return present(pid);
    }
    return unsupported;
  }

  async #startTime(pid: Reading<number>, boot: Reading<number>): Promise<Reading<number>> {
    if (!pid.ok) return pid;
    const text = await readText(
      `${this.#machine.procfs}/${pid.value}/stat`,
      4_096,
      this.#machine.door,
    );
    const stat = parsed(text, parseStat);
    if (!stat.ok) return stat;
    return mapReading(
      boot,
      (bootSeconds) => bootSeconds + Number(stat.value.startTicks) / ticksPerSecond,
    );
  }

  async #networkOf(pid: number): Promise<Reading<string>> {
    return readLink(`${this.#machine.procfs}/${pid}/ns/net`, this.#machine.door);
  }

  /** A network that is the machine's, or that an earlier container of the pod was given, is not told again. */
  async #addNetwork(
    pid: Reading<number>,
    own: Reading<string>,
    seen: Set<string>,
    labels: Labels,
    samples: Samples,
  ): Promise<void> {
    const network = pid.ok && own.ok ? await this.#networkOf(pid.value) : pid.ok ? own : pid;
    if (network.ok && seen.has(network.value)) return;
    if (network.ok) seen.add(network.value);
    const text =
      network.ok && pid.ok
        ? await readText(`${this.#machine.procfs}/${pid.value}/net/dev`, 65_536, this.#machine.door)
        : network.ok
          ? failed
          : network;
    const counts = mapReading(text, parseNetDev);
    for (const direction of directions) {
      const sum = (pick: (counts: TrafficCounts) => number) =>
        mapReading(counts, (interfaces) => total(interfaces, direction, pick));
      const ways = { ...labels, direction };
      samples.add(
        host.containerNetworkBytes,
        sum(({ bytes }) => bytes),
        ways,
      );
      samples.add(
        host.containerNetworkErrors,
        sum(({ errors }) => errors),
        ways,
      );
      samples.add(
        host.containerNetworkDrops,
        sum(({ drops }) => drops),
        ways,
      );
    }
  }
}

function total(
  interfaces: ReadonlyMap<string, NetworkCounts>,
  direction: (typeof directions)[number],
  pick: (counts: TrafficCounts) => number,
): number {
  let sum = 0;
  for (const [name, counts] of interfaces) if (name !== "lo") sum += pick(counts[direction]);
  return sum;
}

/** A limit that is not set is not supported, never a huge number. */
function limitOf(
  text: Reading<string>,
  parse: (text: string) => number | "none" | undefined,
): Reading<number> {
  const limit = parsed(text, parse);
  if (!limit.ok) return limit;
  return limit.value === "none" ? unsupported : present(limit.value);
}
