/** Parses `nvidia-smi -q -x` of every schema into GPUs. Pure: returns readings or typed absences; never throws. */
import type { Device } from "../../../model/device.ts";
import { shortBusId } from "../bus-id.ts";
import {
  parseReportedText,
  programName,
  reasonReadings,
  type SmiGpu,
  type SmiProcess,
  type SmiReading,
  versionIn,
} from "./gpu.ts";
import { type SmiRule, smiRules } from "./table.ts";
import { readCell, type SmiCell } from "./value.ts";
import { type Element, find, parseXml, textAt } from "./xml.ts";

export function parseSmiXml(text: string): SmiGpu[] {
  const log = find(parseXml(text), "nvidia_smi_log");
  if (log === undefined) return [];
  const driver = versionIn(textAt(log, "kmd_version"), textAt(log, "driver_version"));
  return log.children
    .filter(({ name }) => name === "gpu")
    .flatMap((gpu, index) => readGpu(gpu, index, driver));
}

function readGpu(gpu: Element, index: number, driver: string | undefined): SmiGpu[] {
  const busId = parseReportedText(
    textAt(gpu, "pci/pci_bus_id") ?? /id="([^"]*)"/.exec(gpu.attributes)?.[1],
  );
  const pciBusId = busId === undefined ? undefined : shortBusId(busId);
  const uuid =
    parseReportedText(textAt(gpu, "uuid")) ??
    (pciBusId === undefined ? undefined : `nvidia-${pciBusId}`);
  if (uuid === undefined) return [];
  const vbios = parseReportedText(textAt(gpu, "vbios_version"));
  const minor = readCell(textAt(gpu, "minor_number") ?? "", "count");
  const device: Device = {
    uuid,
    index,
    vendor: "nvidia",
    model: parseReportedText(textAt(gpu, "product_name")) ?? "NVIDIA GPU",
    simulated: false,
    pciBusId,
    driver,
    vbios,
    ...(typeof minor === "number" ? { minor } : {}),
  };
  const processes = readProcesses(gpu);
  const readings = [...smiRules.flatMap((rule) => readRule(gpu, rule)), ...reasons(gpu)];
  return [
    { device, readings: dropAbsentMargin(readings), processes },
    ...readInstances(gpu, device, processes),
  ];
}

function readRule(gpu: Element, { metric, labels, as, xml, sum }: SmiRule): SmiReading[] {
  const cell = cellOf(gpu, xml, as) ?? (sum === undefined ? undefined : sumOf(gpu, sum, as));
  if (cell === undefined) return [];
  return [{ metric, labels, cell }];
}

/** If the text of a name is N/A, the next name with a value is used. */
function cellOf(gpu: Element, paths: readonly string[], as: SmiRule["as"]): SmiCell | undefined {
  let absent: SmiCell | undefined;
  for (const path of paths) {
    const text = textAt(gpu, path);
    if (text === undefined) continue;
    const cell = readCell(text, as);
    if (typeof cell === "number") return cell;
    absent ??= cell;
  }
  return absent;
}

function sumOf(gpu: Element, paths: readonly string[], as: SmiRule["as"]): SmiCell | undefined {
  let total: number | undefined;
  let absent: SmiCell | undefined;
  for (const path of paths) {
    const cell = cellOf(gpu, [path], as);
    if (typeof cell === "number") total = (total ?? 0) + cell;
    else absent ??= cell;
  }
  return total ?? absent;
}

/** Without a reported margin, it is derived from the limit, as for every vendor; an absent series would prevent that. */
function dropAbsentMargin(readings: readonly SmiReading[]): SmiReading[] {
  return readings.filter(
    ({ metric, cell }) => metric !== "temperatureMargin" || typeof cell === "number",
  );
}

function reasons(gpu: Element): SmiReading[] {
  for (const word of ["event", "throttle"]) {
    const group = find(gpu, `clocks_${word}_reasons`);
    if (group !== undefined)
      return reasonReadings((ending) => textAt(group, `clocks_${word}_reason_${ending}`));
  }
  return [];
}

function readProcesses(gpu: Element): SmiGpu["processes"] {
  const list = find(gpu, "processes");
  if (list === undefined) return "unsupported";
  return list.children
    .filter(({ name }) => name === "process_info")
    .flatMap((process): SmiProcess[] => {
      const pid = readCell(textAt(process, "pid") ?? "", "count");
      if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return [];
      const type = (textAt(process, "type") ?? "C").toUpperCase();
      const memory = readCell(textAt(process, "used_memory") ?? "", "bytes");
      const name = programName(textAt(process, "process_name"));
      const [gpuInstance, computeInstance] = instanceOf(process);
      return [
        {
          pid,
          kind: type.includes("C") ? (type.includes("G") ? "both" : "compute") : "graphics",
          memoryBytes: typeof memory === "number" ? memory : Number.NaN,
          name,
          gpuInstance,
          computeInstance,
        },
      ];
    });
}

/** The ids of the MIG instance an element belongs to. */
function instanceOf(element: Element): (string | undefined)[] {
  return ["gpu_instance_id", "compute_instance_id"].map((name) =>
    parseReportedText(textAt(element, name)),
  );
}

/**
 * MIG instances have their own memory; before driver 470 the XML contains no UUIDs for them, so they get the ones NVIDIA's tools
 * generated then.
 */
function readInstances(gpu: Element, parent: Device, processes: SmiGpu["processes"]): SmiGpu[] {
  const list = (find(gpu, "mig_devices")?.children ?? []).filter(
    ({ name }) => name === "mig_device",
  );
  const memory = smiRules.filter(({ metric }) => /^memory(Used|Free|Total|Reserved)$/.test(metric));
  return list.flatMap((instance): SmiGpu[] => {
    const [gi, ci] = instanceOf(instance);
    if (gi === undefined) return [];
    const uuid =
      parseReportedText(textAt(instance, "uuid")) ?? `MIG-${parent.uuid}/${gi}/${ci ?? "0"}`;
    const isOnly = list.filter((other) => instanceOf(other)[0] === gi).length === 1;
    /** One GPU instance may contain several compute instances; a process without a compute instance id belongs to the only one. */
    const isHere = ({ gpuInstance, computeInstance }: SmiProcess): boolean =>
      gpuInstance === gi && (isOnly || (ci !== undefined && computeInstance === ci));
    return [
      {
        device: {
          ...parent,
          parent: parent.uuid,
          uuid,
          model: `${parent.model} MIG ${gi}`,
          mig: { gpuInstance: gi, computeInstance: ci },
        },
        readings: memory.flatMap((rule) => readRule(instance, rule)),
        processes: typeof processes === "string" ? processes : processes.filter(isHere),
      },
    ];
  });
}
