/** Kernel settings that affect a benchmark: command line, sysctl, SMT, clock source, and the parameters of GPU drivers. */
import { listDir, readText } from "./sysfs/read.ts";
import { mapReadResult } from "./sysfs/read-result.ts";
import type { KernelFacts } from "./snapshot.ts";
import { maskCommandLine, maskValue } from "./command-line.ts";
import { type Machine, type MissingFacts, optionalFact } from "./machine.ts";
import { parseBracketed } from "./proc.ts";

/** Settings only: counters and values the kernel tunes by itself would differ on an unchanged machine. */
const sysctlNames = [
  "kernel.numa_balancing",
  "kernel.nmi_watchdog",
  "kernel.perf_event_paranoid",
  "kernel.randomize_va_space",
  "kernel.sched_autogroup_enabled",
  "kernel.sched_rt_runtime_us",
  "kernel.timer_migration",
  "net.core.busy_poll",
  "net.core.busy_read",
  "net.core.default_qdisc",
  "net.core.rmem_max",
  "net.core.wmem_max",
  "net.ipv4.tcp_congestion_control",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
  "vm.compaction_proactiveness",
  "vm.dirty_background_ratio",
  "vm.dirty_ratio",
  "vm.max_map_count",
  "vm.overcommit_memory",
  "vm.overcommit_ratio",
  "vm.swappiness",
  "vm.vfs_cache_pressure",
  "vm.zone_reclaim_mode",
] as const;

const gpuModules = [
  "amdgpu",
  "amdkfd",
  "i915",
  "nouveau",
  "nvidia",
  "nvidia_drm",
  "nvidia_modeset",
  "nvidia_peermem",
  "nvidia_uvm",
  "xe",
] as const;

const mostParameters = 512;

export async function readKernel(machine: Machine, missing: MissingFacts): Promise<KernelFacts> {
  const { procfs, sysfs, fileAccess } = machine;
  const line = async (fact: string, path: string): Promise<string | undefined> => {
    const text = missing.optional(`kernel.${fact}`, await readText(path, 8_192, fileAccess));
    return text === undefined || text === "" ? undefined : text.slice(0, 900);
  };
  const commandLine = await readText(`${procfs}/cmdline`, 8_192, fileAccess);
  const defrag = await line(
    "transparentHugePagesDefrag",
    `${sysfs}/kernel/mm/transparent_hugepage/defrag`,
  );
  return {
    ...optionalFact(
      "commandLine",
      missing.optional(
        "kernel.commandLine",
        mapReadResult(commandLine, (text) => maskCommandLine(text).slice(0, 4_900)),
      ),
    ),
    sysctl: await readSysctl(machine, missing),
    modules: await readModules(machine, missing),
    ...optionalFact("smt", await line("smt", `${sysfs}/devices/system/cpu/smt/control`)),
    ...optionalFact(
      "clocksource",
      await line(
        "clocksource",
        `${sysfs}/devices/system/clocksource/clocksource0/current_clocksource`,
      ),
    ),
    ...optionalFact("transparentHugePagesDefrag", parseBracketed(defrag ?? "")),
  };
}

async function readSysctl(
  machine: Machine,
  missing: MissingFacts,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const name of sysctlNames) {
    const path = `${machine.procfs}/sys/${name.replaceAll(".", "/")}`;
    const value = missing.optional(
      `kernel.sysctl.${name}`,
      await readText(path, 1_024, machine.fileAccess),
    );
    if (value !== undefined && value !== "")
      values[name] = value.replace(/\s+/g, " ").slice(0, 900);
  }
  return values;
}

/** A module that is not loaded has no folder; a loaded one without parameters is listed without any. */
async function readModules(
  machine: Machine,
  missing: MissingFacts,
): Promise<Record<string, Record<string, string>>> {
  const modules: Record<string, Record<string, string>> = {};
  for (const module of gpuModules) {
    const folder = `${machine.sysfs}/module/${module}`;
    const fact = `kernel.modules.${module}`;
    const there = missing.optional(fact, await listDir(folder, machine.fileAccess));
    if (there === undefined) continue;
    const names = there.includes("parameters")
      ? missing.optional(fact, await listDir(`${folder}/parameters`, machine.fileAccess))
      : [];
    const parameters: Record<string, string> = {};
    for (const name of (names ?? []).toSorted().slice(0, mostParameters)) {
      const text = await readText(`${folder}/parameters/${name}`, 1_024, machine.fileAccess);
      const value = missing.optional(`${fact}.${name}`, text);
      if (value !== undefined)
        parameters[name] = maskValue(name, value.replace(/\s+/g, " ")).slice(0, 900);
    }
    modules[module] = {
      ...(module === "nvidia" ? await nvidiaParams(machine) : {}),
      ...parameters,
    };
  }
  return modules;
}

/** `/proc/driver/nvidia/params`, one `EnableMSI: 1` per line: the values in effect, readable even if the module's own files are not. */
async function nvidiaParams(machine: Machine): Promise<Record<string, string>> {
  const text = await readText(`${machine.procfs}/driver/nvidia/params`, 16_384, machine.fileAccess);
  const found = text.ok ? text.value.matchAll(/^(\w{1,80}): (.{0,400})$/gm) : [];
  return Object.fromEntries(
    [...found]
      .slice(0, mostParameters)
      .map(([, name = "", value = ""]) => [
        name,
        maskValue(name, value.trim().replace(/^"(.*)"$/, "$1")),
      ]),
  );
}
