/** Parses the readings of `nvidia-smi -q -x` that NVML does not provide: CUDA version, firmware, requested clocks, processes. Pure. */
import { type Element, find, parseXml, textAt } from "../../sources/nvidia/smi/xml.ts";
import { optionalFact } from "../../machine/machine.ts";
import type { GpuExtra } from "../../machine/snapshot-gpu.ts";
import type { GpuProcessReading } from "../../machine/snapshot.ts";
import type { DriverFacts } from "../../runs/snapshot/take.ts";

export function parseSmiFacts(xml: string): DriverFacts {
  const log = find(parseXml(xml), "nvidia_smi_log");
  const gpus = new Map<string, GpuExtra>();
  const processes: GpuProcessReading[] = [];
  for (const gpu of log?.children.filter(({ name }) => name === "gpu") ?? []) {
    const uuid = knownText(textAt(gpu, "uuid"));
    if (uuid === undefined) continue;
    gpus.set(uuid, extraOf(gpu));
    for (const one of find(gpu, "processes")?.children ?? [])
      processes.push(...processOf(uuid, one));
  }
  const cuda = log === undefined ? undefined : knownText(textAt(log, "cuda_version"));
  return { versions: cuda === undefined ? {} : { cuda_driver: cuda }, gpus, processes };
}

function extraOf(gpu: Element): GpuExtra {
  const firmware = {
    ...optionalFact("gsp", knownText(textAt(gpu, "gsp_firmware_version"))),
    ...optionalFact("inforom", knownText(textAt(gpu, "inforom_version/img_version"))),
  };
  const clocks = {
    ...optionalFact("graphics", megahertz(textAt(gpu, "applications_clocks/graphics_clock"))),
    ...optionalFact("memory", megahertz(textAt(gpu, "applications_clocks/mem_clock"))),
  };
  return {
    ...(Object.keys(firmware).length === 0 ? {} : { firmware }),
    ...(Object.keys(clocks).length === 0 ? {} : { applicationHertz: clocks }),
  };
}

const kinds: Readonly<Record<string, string>> = {
  C: "compute",
  G: "graphics",
  "C+G": "both",
};

function processOf(uuid: string, element: Element): GpuProcessReading[] {
  const pid = Number(textAt(element, "pid"));
  if (!Number.isInteger(pid) || pid <= 0) return [];
  const kind = kinds[textAt(element, "type") ?? ""];
  const mebibytes = /^(\d{1,9}) MiB$/.exec(textAt(element, "used_memory") ?? "")?.[1];
  // The value is a path or a whole command line: keep only the program's name, since an argument may be a secret.
  const name = knownText(textAt(element, "process_name"))?.split(" ", 1)[0]?.split("/").at(-1);
  return [
    {
      uuid,
      pid,
      ...optionalFact("name", name === "" ? undefined : name?.slice(0, 64)),
      ...optionalFact("kind", kind),
      ...optionalFact(
        "memoryBytes",
        mebibytes === undefined ? undefined : Number(mebibytes) * 2 ** 20,
      ),
    },
  ];
}

const knownText = (text: string | undefined): string | undefined =>
  text === undefined || /^(?:|N\/A|\[.*\]|Unknown.*|Requested functionality.*)$/i.test(text)
    ? undefined
    : text.slice(0, 200);

function megahertz(text: string | undefined): number | undefined {
  const value = /^(\d{1,6}) MHz$/.exec(text ?? "")?.[1];
  return value === undefined ? undefined : Number(value) * 1e6;
}
