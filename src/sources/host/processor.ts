/** Processors, load and memory: the fast readings and the static facts. */
import { machine as architecture } from "node:os";
import { host } from "../../model/catalogue/index.ts";
import { readNumber, readText } from "../../machine/sysfs/read.ts";
import {
  failed,
  mapReadResult,
  present,
  type ReadResult,
  unsupported,
} from "../../machine/sysfs/read-result.ts";
import { type HostContext, rootOf } from "./machine.ts";
import { cpuModes, parseLoad, parseProcStat, type ProcStat } from "./proc.ts";
import { parseCpuinfo, parseMeminfo, parseOsRelease } from "../../machine/proc.ts";
import type { HostFrameBuilder } from "./samples.ts";

/** The interrupt line alone takes about 20 KB on a large machine. */
const statBytes = 131_072;

export async function addProcessor(machine: HostContext, samples: HostFrameBuilder): Promise<void> {
  const [stat, load, memory] = await Promise.all([
    readProcStat(machine),
    readText(`${machine.procfs}/loadavg`, 256, machine.fileAccess),
    readText(`${machine.procfs}/meminfo`, 8_192, machine.fileAccess),
  ]);
  for (const mode of cpuModes)
    samples.add(
      host.cpuSeconds,
      part(stat, ({ cpuSeconds }) => cpuSeconds.get(mode)),
      { mode },
    );
  samples.add(
    host.contextSwitches,
    part(stat, ({ contextSwitches }) => contextSwitches),
  );
  samples.add(
    host.processesRunning,
    part(stat, ({ running }) => running),
  );
  samples.add(
    host.processesBlocked,
    part(stat, ({ blocked }) => blocked),
  );
  const averages = parsed(load, parseLoad);
  samples.add(
    host.load1,
    mapReadResult(averages, ([one]) => one),
  );
  samples.add(
    host.load5,
    mapReadResult(averages, ([, five]) => five),
  );
  samples.add(
    host.load15,
    mapReadResult(averages, ([, , fifteen]) => fifteen),
  );
  addMemory(mapReadResult(memory, parseMeminfo), samples);
}

function addMemory(
  memory: ReadResult<ReadonlyMap<string, number>>,
  samples: HostFrameBuilder,
): void {
  const named = (name: string) => part(memory, (values) => values.get(name));
  const less = (total: string, rest: string) =>
    part(memory, (values) => {
      const [all, free] = [values.get(total), values.get(rest)];
      return all === undefined || free === undefined ? undefined : all - free;
    });
  samples.add(host.memoryAvailable, named("MemAvailable"));
  samples.add(host.memoryUsed, less("MemTotal", "MemAvailable"));
  samples.add(host.memoryFree, named("MemFree"));
  samples.add(host.memoryCached, named("Cached"));
  samples.add(host.swapUsed, less("SwapTotal", "SwapFree"));
}

export async function addMachineFacts(
  machine: HostContext,
  samples: HostFrameBuilder,
): Promise<void> {
  const { procfs, sysfs, fileAccess } = machine;
  const [stat, cpuinfo, memory, kernel, release, maxKilohertz] = await Promise.all([
    readProcStat(machine),
    // About 1.5 KB per thread.
    readText(`${procfs}/cpuinfo`, 2_097_152, fileAccess),
    readText(`${procfs}/meminfo`, 8_192, fileAccess),
    readText(`${procfs}/sys/kernel/osrelease`, 256, fileAccess),
    readText(`${rootOf(machine)}/etc/os-release`, 4_096, fileAccess),
    readNumber(`${sysfs}/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq`, fileAccess),
  ]);
  const cpu = parsed(cpuinfo, parseCpuinfo);
  samples.add(host.info, 1, {
    system: release.ok ? parseOsRelease(release.value) : undefined,
    kernel: kernel.ok ? kernel.value : undefined,
    architecture: architecture(),
  });
  samples.add(
    host.cpuInfo,
    mapReadResult(cpu, () => 1),
    {
      model: cpu.ok ? cpu.value.model : undefined,
      vendor: cpu.ok ? cpu.value.vendor : undefined,
    },
  );
  samples.add(
    host.cpuSockets,
    part(cpu, ({ sockets }) => sockets),
  );
  samples.add(
    host.cpuCores,
    part(cpu, ({ cores }) => cores),
  );
  samples.add(
    host.cpuThreads,
    part(cpu, ({ threads }) => threads),
  );
  samples.add(
    host.cpuClockMax,
    mapReadResult(maxKilohertz, (kilohertz) => kilohertz * 1_000),
  );
  samples.add(
    host.bootTime,
    part(stat, ({ bootSeconds }) => bootSeconds),
  );
  const sizes = mapReadResult(memory, parseMeminfo);
  samples.add(
    host.memoryTotal,
    part(sizes, (values) => values.get("MemTotal")),
  );
  samples.add(
    host.swapTotal,
    part(sizes, (values) => values.get("SwapTotal")),
  );
}

export async function readProcStat({
  procfs,
  fileAccess,
}: HostContext): Promise<ReadResult<ProcStat>> {
  return parsed(await readText(`${procfs}/stat`, statBytes, fileAccess), parseProcStat);
}

/** Parses a file's text; a file that exists and cannot be parsed is `failed`. */
export function parsed<T>(
  text: ReadResult<string>,
  parse: (text: string) => T | undefined,
): ReadResult<T> {
  if (!text.ok) return text;
  const value = parse(text.value);
  return value === undefined ? failed : present(value);
}

/** One field of a parsed file; a field that the kernel does not write is `unsupported`. */
export function part<T>(
  reading: ReadResult<T>,
  pick: (value: T) => number | undefined,
): ReadResult<number> {
  if (!reading.ok) return reading;
  const value = pick(reading.value);
  return value === undefined ? unsupported : present(value);
}
