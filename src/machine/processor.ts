/** The processor: its model, caches, and frequency policy. Its momentary frequency is not a fact. */
import { listDir, readNumber, readText } from "./sysfs/read.ts";
import type { AbsenceReason } from "../model/presence.ts";
import { type ReadResult, mapReadResult, present, unsupported } from "./sysfs/read-result.ts";
import type { SnapshotFacts } from "./snapshot.ts";
import { lineOf, type Machine, type MissingFacts, optionalFact } from "./machine.ts";
import { type CpuInfo, parseCpuinfo, parseCpuList, parseSize } from "./proc.ts";

type Processor = SnapshotFacts["processor"];

export type ProcessorCounts = Partial<CpuInfo> & {
  /** Why cpuinfo could not be read. */
  readonly absent?: AbsenceReason;
};

/**
 * Counts of the whole machine, including processors this process may not use: from /proc/cpuinfo, or from /sys if that lists no
 * cores, as on ARM.
 */
export async function readProcessorCounts(machine: Machine): Promise<ProcessorCounts> {
  // About 1.5 KB per thread.
  const text = await readText(`${machine.procfs}/cpuinfo`, 2_097_152, machine.fileAccess);
  const cpu = text.ok ? parseCpuinfo(text.value) : undefined;
  const topology = cpu?.cores === undefined ? await readTopology(machine) : undefined;
  return { ...(text.ok ? {} : { absent: text.reason }), ...cpu, ...topology };
}

async function readTopology({
  sysfs,
  fileAccess,
}: Machine): Promise<Partial<Pick<CpuInfo, "cores" | "sockets" | "threads">>> {
  const folder = `${sysfs}/devices/system/cpu`;
  const names = await listDir(folder, fileAccess);
  const siblings = new Set<string>();
  const packages = new Set<string>();
  let threads = 0;
  for (const name of names.ok ? names.value : []) {
    if (!/^cpu\d+$/.test(name) || threads >= mostCpus) continue;
    const at = `${folder}/${name}/topology`;
    const [core, socket] = await Promise.all([
      readText(`${at}/thread_siblings_list`, 4_096, fileAccess),
      readText(`${at}/physical_package_id`, 64, fileAccess),
    ]);
    if (!core.ok) continue;
    threads++;
    siblings.add(core.value);
    if (socket.ok && /^\d+$/.test(socket.value)) packages.add(socket.value);
  }
  if (threads === 0) return {};
  return {
    threads,
    cores: siblings.size,
    ...(packages.size === 0 ? {} : { sockets: packages.size }),
  };
}

export async function readProcessor(machine: Machine, missing: MissingFacts): Promise<Processor> {
  const { architecture } = machine;
  const cpu = await readProcessorCounts(machine);
  for (const fact of ["model", "sockets", "cores", "threads"] as const)
    if (cpu[fact] === undefined) missing.note(`processor.${fact}`, cpu.absent ?? "unsupported");
  const caches = await readCaches(machine);
  if (caches.length === 0) missing.note("processor.caches", "unsupported");
  return {
    ...optionalFact("model", cpu.model),
    ...optionalFact("vendor", cpu.vendor),
    architecture,
    ...optionalFact("sockets", cpu.sockets),
    ...optionalFact("cores", cpu.cores),
    ...optionalFact("threads", cpu.threads),
    ...optionalFact("microcode", cpu.microcode),
    ...(caches.length === 0 ? {} : { caches }),
    frequency: await readFrequency(machine, missing),
  };
}

/** Limit; further processors of such a machine are of the same kind. */
const mostCpus = 4_096;

async function readFrequency(
  machine: Machine,
  missing: MissingFacts,
): Promise<Processor["frequency"]> {
  const { sysfs, fileAccess } = machine;
  const folder = `${sysfs}/devices/system/cpu`;
  const names = await listDir(folder, fileAccess);
  const cpus = (names.ok ? names.value : []).filter((name) => /^cpu\d+$/.test(name));
  const ofAllCpus = async (file: string): Promise<ReadResult<string>> => {
    const each = await Promise.all(
      cpus.slice(0, mostCpus).map((cpu) => lineOf(machine, `${folder}/${cpu}/cpufreq/${file}`)),
    );
    // List all governors: a diff must find one processor with another governor.
    const all = [...new Set(each.flatMap((one) => (one.ok ? [one.value] : [])))].toSorted();
    if (all.length > 0) return present(all.join(", "));
    return each.find((one) => !one.ok && one.reason !== "unsupported") ?? unsupported;
  };
  const hertz = async (file: string): Promise<ReadResult<number>> =>
    mapReadResult(
      await readNumber(`${folder}/cpu0/cpufreq/${file}`, fileAccess),
      (khz) => khz * 1_000,
    );
  const fact = (name: string): string => `processor.frequency.${name}`;
  const [driver, governor, energyPreference, minHertz, maxHertz, boost, noTurbo] =
    await Promise.all([
      lineOf(machine, `${folder}/cpu0/cpufreq/scaling_driver`),
      ofAllCpus("scaling_governor"),
      ofAllCpus("energy_performance_preference"),
      hertz("scaling_min_freq"),
      hertz("scaling_max_freq"),
      readNumber(`${folder}/cpufreq/boost`, fileAccess),
      readNumber(`${folder}/intel_pstate/no_turbo`, fileAccess),
    ]);
  const turbo = boost.ok
    ? mapReadResult(boost, (on) => on === 1)
    : mapReadResult(noTurbo, (off) => off === 0);
  return {
    ...optionalFact("driver", missing.optional(fact("driver"), driver)),
    ...optionalFact("governor", missing.take(fact("governor"), governor)),
    ...optionalFact(
      "energyPreference",
      missing.optional(fact("energyPreference"), energyPreference),
    ),
    ...optionalFact("boost", missing.optional(fact("boost"), turbo)),
    ...optionalFact("minHertz", missing.optional(fact("minHertz"), minHertz)),
    ...optionalFact("maxHertz", missing.take(fact("maxHertz"), maxHertz)),
  };
}

/** Each cache is listed by every processor that shares it, so a cache is identified by its sharers. */
async function readCaches(machine: Machine): Promise<NonNullable<Processor["caches"]>> {
  const { sysfs, fileAccess } = machine;
  const folder = `${sysfs}/devices/system/cpu`;
  const online = await readText(`${folder}/online`, 4_096, fileAccess);
  const cpus = online.ok ? parseCpuList(online.value) : [0];
  const found = new Map<string, { level: number; type: string; sizeBytes: number }>();
  await Promise.all(
    cpus.slice(0, mostCpus).map(async (cpu) => {
      const indexes = await listDir(`${folder}/cpu${cpu}/cache`, fileAccess);
      for (const name of indexes.ok ? indexes.value : []) {
        if (!/^index\d+$/.test(name)) continue;
        const at = `${folder}/cpu${cpu}/cache/${name}`;
        const [level, type, size, shared] = await Promise.all([
          readNumber(`${at}/level`, fileAccess),
          lineOf(machine, `${at}/type`),
          lineOf(machine, `${at}/size`),
          lineOf(machine, `${at}/shared_cpu_list`),
        ]);
        const sizeBytes = parseSize(size.ok ? size.value : "");
        if (!level.ok || !type.ok || sizeBytes === undefined) continue;
        found.set(`${level.value}/${type.value}/${shared.ok ? shared.value : cpu}`, {
          level: level.value,
          type: type.value,
          sizeBytes,
        });
      }
    }),
  );
  const counted = new Map<string, NonNullable<Processor["caches"]>[number]>();
  for (const { level, type, sizeBytes } of found.values()) {
    const key = `${level}/${type}/${sizeBytes}`;
    const count = (counted.get(key)?.count ?? 0) + 1;
    counted.set(key, { level, type: type.toLowerCase(), sizeBytes, count });
  }
  return [...counted.values()].toSorted(
    (a, b) => a.level - b.level || (a.type < b.type ? -1 : 1) || a.sizeBytes - b.sizeBytes,
  );
}
