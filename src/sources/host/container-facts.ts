/**
 * Facts that do not change while a container runs: its names, settings, start time and network. Looked up once a minute per
 * container, since a hundred containers have a thousand small files.
 */
import { valueOf } from "../../machine/owners/attribution.ts";
import { containerLogFolder, PodNames } from "../../machine/owners/kubelet/pod-names.ts";
import { parseStat } from "../../machine/owners/proc.ts";
import { readLink, readText } from "../../machine/sysfs/read.ts";
import {
  mapReadResult,
  present,
  type ReadResult,
  unsupported,
} from "../../machine/sysfs/read-result.ts";
import { lowestPid, parseCpuMax, parseLimit } from "./cgroup-files.ts";
import type { FoundContainer } from "./container-walk.ts";
import { type HostContext, rootOf } from "./machine.ts";
import { ticksPerSecond } from "./proc.ts";
import { parsed, part, readProcStat } from "./processor.ts";
import type { OptionalLabels } from "./samples.ts";

export interface ContainerFacts {
  readonly labels: OptionalLabels;
  readonly cpuLimitCores: ReadResult<number>;
  readonly memoryLimitBytes: ReadResult<number>;
  readonly startSeconds: ReadResult<number>;
  readonly pid: ReadResult<number>;
  /** The kernel's name of the container's network namespace. */
  readonly network: ReadResult<string>;
}

const keptMs = 60_000;

export class ContainerFactsFinder {
  readonly #machine: HostContext;
  readonly #names: PodNames;
  #kept = new Map<string, { readonly facts: ContainerFacts; readonly untilMs: number }>();

  constructor(machine: HostContext) {
    this.#machine = machine;
    const logs = `${rootOf(machine)}${containerLogFolder}`;
    this.#names = new PodNames(logs, machine.nowMs, machine.fileAccess);
  }

  /** The facts of the given containers, in order; all others are dropped from the cache. */
  async of(root: string, containers: readonly FoundContainer[]): Promise<ContainerFacts[]> {
    const before = this.#kept;
    this.#kept = new Map();
    const found: ContainerFacts[] = [];
    for (const container of containers) {
      const known = before.get(container.path);
      const nowMs = this.#machine.nowMs();
      const entry =
        known !== undefined && nowMs < known.untilMs
          ? known
          : { facts: await this.#look(root, container), untilMs: nowMs + keptMs };
      this.#kept.set(container.path, entry);
      found.push(entry.facts);
    }
    return found;
  }

  /** Drops a container whose process has ended or had not started, so that it is looked up again. */
  forget(path: string): void {
    this.#kept.delete(path);
  }

  networkOf(pid: number): Promise<ReadResult<string>> {
    return readLink(`${this.#machine.procfs}/${pid}/ns/net`, this.#machine.fileAccess);
  }

  async #look(root: string, container: FoundContainer): Promise<ContainerFacts> {
    const { procfs, fileAccess } = this.#machine;
    const folder = `${root}${container.path}`;
    const pid = await this.#firstPid(folder);
    const [labels, cpuMax, memoryMax, stat, boot, network] = await Promise.all([
      this.#labels(container),
      readText(`${folder}/cpu.max`, 64, fileAccess),
      readText(`${folder}/memory.max`, 64, fileAccess),
      pid.ok ? readText(`${procfs}/${pid.value}/stat`, 4_096, fileAccess) : pid,
      readProcStat(this.#machine),
      pid.ok ? this.networkOf(pid.value) : pid,
    ]);
    const ticks = mapReadResult(parsed(stat, parseStat), ({ startTicks }) => Number(startTicks));
    const bootSeconds = part(boot, (values) => values.bootSeconds);
    return {
      labels,
      cpuLimitCores: limitOf(cpuMax, parseCpuMax),
      memoryLimitBytes: limitOf(memoryMax, parseLimit),
      startSeconds: ticks.ok
        ? mapReadResult(bootSeconds, (seconds) => seconds + ticks.value / ticksPerSecond)
        : ticks,
      pid,
      network,
    };
  }

  async #labels({ owner }: FoundContainer): Promise<OptionalLabels> {
    const { container, podUid } = owner;
    const names =
      podUid !== undefined && container !== undefined
        ? valueOf(await this.#names.of(container))
        : undefined;
    const isId = container !== undefined && /^[0-9a-f]{64}$/.test(container);
    return {
      container: isId ? container.slice(0, 12) : container,
      runtime: owner.runtime,
      container_name: names?.container,
      pod: names?.pod,
      namespace: names?.namespace,
      pod_uid: podUid,
      workload: owner.slurmJob,
    };
  }

  /** Some runtimes place the processes one folder deeper. */
  async #firstPid(folder: string): Promise<ReadResult<number>> {
    for (const below of ["", "/container", "/init.scope", "/payload", "/supervisor"]) {
      const text = await readText(
        `${folder}${below}/cgroup.procs`,
        65_536,
        this.#machine.fileAccess,
      );
      const pid = text.ok ? lowestPid(text.value) : undefined;
      if (pid !== undefined) return present(pid);
    }
    return unsupported;
  }
}

/** An unset limit is `unsupported`, never a huge number. */
export function limitOf(
  text: ReadResult<string>,
  parse: (text: string) => number | "none" | undefined,
): ReadResult<number> {
  const limit = parsed(text, parse);
  if (!limit.ok) return limit;
  return limit.value === "none" ? unsupported : present(limit.value);
}
