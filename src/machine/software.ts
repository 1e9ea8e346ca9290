/** Kernel, operating system and the versions a GPU program depends on. Reads files only and starts no program. */
import { readText } from "./sysfs/read.ts";
import type { SnapshotFacts } from "./snapshot.ts";
import { lineOf, type Machine, type MissingFacts, optionalFact, rootOf } from "./machine.ts";
import { parseOsRelease } from "./proc.ts";

export async function readOs(
  machine: Machine,
  missing: MissingFacts,
): Promise<SnapshotFacts["os"]> {
  const { procfs, fileAccess } = machine;
  const [kernel, release] = await Promise.all([
    readText(`${procfs}/sys/kernel/osrelease`, 256, fileAccess),
    readText(`${rootOf(machine)}/etc/os-release`, 4_096, fileAccess),
  ]);
  const name = release.ok ? parseOsRelease(release.value) : undefined;
  if (name === undefined) missing.note("os.name", release.ok ? "unsupported" : release.reason);
  return {
    ...optionalFact("name", name),
    ...optionalFact("kernel", missing.take("os.kernel", kernel)),
  };
}

/** The versions expected for each vendor of the machine's GPUs; a version that is not found is missing. */
const expected: Readonly<Record<string, readonly string[]>> = {
  nvidia: ["nvidia_driver", "cuda_driver", "cuda_toolkit"],
  amd: ["amdgpu_driver", "rocm"],
};

export async function readSoftware(
  machine: Machine,
  vendors: ReadonlySet<string>,
  reported: Readonly<Record<string, string>>,
  missing: MissingFacts,
): Promise<SnapshotFacts["software"]> {
  const found = await readVersions(machine, missing);
  const versions = { ...found, ...reported };
  for (const vendor of [...vendors].toSorted())
    for (const name of expected[vendor] ?? [])
      if (versions[name] === undefined) missing.note(`software.versions.${name}`, "unsupported");
  return { versions };
}

async function readVersions(
  machine: Machine,
  missing: MissingFacts,
): Promise<Record<string, string>> {
  const { procfs, sysfs, fileAccess } = machine;
  const root = rootOf(machine);
  const [nvidia, cuda, oldCuda, rocm, amdgpu] = await Promise.all([
    readText(`${procfs}/driver/nvidia/version`, 4_096, fileAccess),
    readText(`${root}/usr/local/cuda/version.json`, 65_536, fileAccess),
    readText(`${root}/usr/local/cuda/version.txt`, 256, fileAccess),
    lineOf(machine, `${root}/opt/rocm/.info/version`),
    lineOf(machine, `${sysfs}/module/amdgpu/version`),
  ]);
  const toolkit =
    (cuda.ok ? parseCudaVersion(cuda.value) : undefined) ??
    (oldCuda.ok ? /^CUDA Version (\d[\d.]{0,20})/.exec(oldCuda.value)?.[1] : undefined);
  return {
    ...optionalFact("nvidia_driver", nvidia.ok ? parseDriverVersion(nvidia.value) : undefined),
    ...optionalFact("cuda_toolkit", toolkit),
    ...optionalFact("rocm", missing.optional("software.versions.rocm", rocm)),
    ...optionalFact("amdgpu_driver", missing.optional("software.versions.amdgpu_driver", amdgpu)),
  };
}

/** `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build …`. */
export function parseDriverVersion(text: string): string | undefined {
  return /^NVRM version:.*?\s(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)\s/m.exec(text)?.[1];
}

/** `{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}, …}`. */
export function parseCudaVersion(text: string): string | undefined {
  try {
    const version = (JSON.parse(text) as { readonly cuda?: { readonly version?: unknown } } | null)
      ?.cuda?.version;
    return typeof version === "string" && /^\d[\d.]{0,20}$/.test(version) ? version : undefined;
  } catch {
    // A truncated file has no version.
    return undefined;
  }
}
