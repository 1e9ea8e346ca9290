/**
 * Containers from their version 2 cgroups: processor, memory, disk, network, limits, and how many started and stopped. Bounded in number.
 */
import { host } from "../../model/catalogue/index.ts";
import { readText } from "../../machine/sysfs/read.ts";
import { mapReadResult, type ReadResult } from "../../machine/sysfs/read-result.ts";
import { parseFlatKeyed, parseIoStat, parseLimit } from "./cgroup-files.ts";
import { type ContainerFacts, ContainerFactsFinder, limitOf } from "./container-facts.ts";
import { findCgroupRoot, findContainers, type FoundContainer } from "./container-walk.ts";
import type { HostContext } from "./machine.ts";
import { type NetworkCounts, parseNetDev, type TrafficCounts } from "./proc.ts";
import { part } from "./processor.ts";
import { capped, type HostFrameBuilder, type OptionalLabels } from "./samples.ts";

const directions = ["receive", "transmit"] as const;
/**
 * Number of containers read in parallel: takes half the processor time of sequential reads, without a long queue before the GPUs'
 * own reads.
 */
const together = 8;

interface Plan {
  readonly path: string;
  readonly folder: string;
  readonly facts: ContainerFacts;
  /** The process whose network is read; undefined if the network is reported elsewhere. */
  readonly process: ReadResult<number> | undefined;
}

interface Files {
  readonly cpu: ReadResult<string>;
  readonly memory: ReadResult<string>;
  readonly memoryStat: ReadResult<string>;
  readonly events: ReadResult<string>;
  readonly io: ReadResult<string>;
  readonly network: ReadResult<string> | undefined;
}

export class Containers {
  readonly #machine: HostContext;
  readonly #limit: number;
  readonly #facts: ContainerFactsFinder;
  #known: ReadonlySet<string> | undefined;
  #starts = 0;
  #stops = 0;
  leftOut = 0;

  constructor(machine: HostContext, limit: number) {
    this.#machine = machine;
    this.#limit = limit;
    this.#facts = new ContainerFactsFinder(machine);
  }

  async add(samples: HostFrameBuilder): Promise<void> {
    const root = await findCgroupRoot(this.#machine);
    const found = root.ok ? await findContainers(this.#machine, root.value) : [];
    this.#count(found);
    samples.add(
      host.containers,
      mapReadResult(root, () => found.length),
    );
    samples.add(
      host.containerStarts,
      mapReadResult(root, () => this.#starts),
    );
    samples.add(
      host.containerStops,
      mapReadResult(root, () => this.#stops),
    );
    if (!root.ok) return;
    const [shown, leftOut] = capped(found, this.#limit);
    this.leftOut = leftOut;
    const facts = await this.#facts.of(root.value, shown);
    const plans = await this.#plan(root.value, shown, facts);
    for (let start = 0; start < plans.length; start += together) {
      const some = plans.slice(start, start + together);
      const files = await Promise.all(some.map((plan) => this.#read(plan)));
      for (const [index, plan] of some.entries()) {
        const read = files[index];
        if (read !== undefined) this.#addOne(plan, read, samples);
      }
    }
  }

  /** The machine's own network, or one that an earlier container of the pod shares, is not reported again. */
  async #plan(
    root: string,
    shown: readonly FoundContainer[],
    facts: readonly ContainerFacts[],
  ): Promise<readonly Plan[]> {
    const own = await this.#facts.networkOf(1);
    const seen = new Set<string>(own.ok ? [own.value] : []);
    return shown.flatMap(({ path }, index) => {
      const known = facts[index];
      if (known === undefined) return [];
      // If the machine's own network is unknown, a container's network cannot be attributed.
      const network = own.ok ? known.network : own;
      const reported = network.ok && seen.has(network.value);
      if (network.ok) seen.add(network.value);
      const process = reported ? undefined : network.ok ? known.pid : network;
      return [{ path, folder: `${root}${path}`, facts: known, process }];
    });
  }

  async #read({ folder, process }: Plan): Promise<Files> {
    const { procfs, fileAccess } = this.#machine;
    const file = (name: string, bytes = 4_096) => readText(`${folder}/${name}`, bytes, fileAccess);
    const [cpu, memory, memoryStat, events, io, network] = await Promise.all([
      file("cpu.stat"),
      file("memory.current", 64),
      file("memory.stat", 8_192),
      file("memory.events"),
      file("io.stat", 16_384),
      process?.ok === true
        ? readText(`${procfs}/${process.value}/net/dev`, 16_384, fileAccess)
        : process,
    ]);
    return { cpu, memory, memoryStat, events, io, network };
  }

  /** Containers that run at the first read do not count as started. */
  #count(found: readonly FoundContainer[]): void {
    const now = new Set(found.map(({ path }) => path));
    const before = this.#known;
    this.#known = now;
    if (before === undefined) return;
    for (const path of now) if (!before.has(path)) this.#starts++;
    for (const path of before) if (!now.has(path)) this.#stops++;
  }

  #addOne({ path, facts, process }: Plan, files: Files, samples: HostFrameBuilder): void {
    const { labels } = facts;
    const { cpu, memory, memoryStat, events, io, network } = files;
    const times = mapReadResult(cpu, parseFlatKeyed);
    const seconds = (key: string) =>
      mapReadResult(
        part(times, (values) => values.get(key)),
        (micros) => micros / 1e6,
      );
    samples.add(host.containerCpuSeconds, seconds("usage_usec"), labels);
    samples.add(host.containerCpuThrottledSeconds, seconds("throttled_usec"), labels);
    samples.add(host.containerCpuLimit, facts.cpuLimitCores, labels);
    addMemory(
      limitOf(memory, parseLimit),
      mapReadResult(memoryStat, parseFlatKeyed),
      labels,
      samples,
    );
    samples.add(host.containerMemoryLimit, facts.memoryLimitBytes, labels);
    const kills = part(mapReadResult(events, parseFlatKeyed), (values) => values.get("oom_kill"));
    samples.add(host.containerOomKills, kills, labels);
    const disk = mapReadResult(io, parseIoStat);
    const read = { ...labels, action: "read" };
    const write = { ...labels, action: "write" };
    samples.add(
      host.containerDiskBytes,
      mapReadResult(disk, ({ readBytes }) => readBytes),
      read,
    );
    samples.add(
      host.containerDiskBytes,
      mapReadResult(disk, ({ writtenBytes }) => writtenBytes),
      write,
    );
    samples.add(
      host.containerDiskOperations,
      mapReadResult(disk, ({ reads }) => reads),
      read,
    );
    samples.add(
      host.containerDiskOperations,
      mapReadResult(disk, ({ writes }) => writes),
      write,
    );
    samples.add(host.containerStartTime, facts.startSeconds, labels);
    if (network === undefined) return;
    // The known process has ended; another one of the container may still run.
    if (process?.ok === true && !network.ok) this.#facts.forget(path);
    addNetwork(mapReadResult(network, parseNetDev), labels, samples);
  }
}

function addNetwork(
  counts: ReadResult<ReadonlyMap<string, NetworkCounts>>,
  labels: OptionalLabels,
  samples: HostFrameBuilder,
): void {
  for (const direction of directions) {
    const sum = (pick: (counts: TrafficCounts) => number) =>
      mapReadResult(counts, (interfaces) => total(interfaces, direction, pick));
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

function addMemory(
  used: ReadResult<number>,
  stat: ReadResult<ReadonlyMap<string, number>>,
  labels: OptionalLabels,
  samples: HostFrameBuilder,
): void {
  samples.add(host.containerMemory, used, labels);
  const idle = part(stat, (values) => values.get("inactive_file"));
  const working = idle.ok ? mapReadResult(used, (bytes) => Math.max(0, bytes - idle.value)) : idle;
  samples.add(host.containerMemoryWorkingSet, working, labels);
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
