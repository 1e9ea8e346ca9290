/**
 * `nvidia-smi -q`, for people, to GPUs: told as the XML would tell it, and read by the same rules. Pure, and never throws. A
 * section is a line without a value, what belongs to it stands further in, and a line with a value may have others below it:
 *
 *     Driver Version                                         : 580.159.04
 *     GPU 00000000:00:06.0
 *         Fan Speed                                          : N/A
 *         Clocks Event Reasons
 *             HW Slowdown                                    : Not Active
 *                 HW Thermal Slowdown                        : Not Active
 *         Processes
 *             GPU instance ID                   : N/A
 *             Process ID                        : 507
 *                 Type                          : C
 */
import type { SmiGpu } from "./gpu.ts";
import { readLog } from "./query-xml.ts";
import { xmlPaths } from "./text-names.ts";
import type { Element } from "./xml.ts";

const mostLines = 200_000;
const deepest = 12;

interface Line {
  readonly name: string;
  readonly value: string | undefined;
  readonly indent: number;
  readonly below: Line[];
}

export function parseSmiText(text: string): SmiGpu[] {
  const log = element("nvidia_smi_log");
  for (const line of tree(text)) {
    const busId = /^GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9])$/.exec(
      line.name,
    )?.[1];
    if (busId !== undefined) log.children.push(gpuOf(line, ` id="${busId}"`));
    else if (line.name === "Driver Version") put(log, "driver_version", line.value ?? "");
    else if (line.name === "KMD Version") put(log, "kmd_version", line.value ?? "");
  }
  return readLog(log);
}

function tree(text: string): Line[] {
  const root: Line = { name: "", value: undefined, indent: -1, below: [] };
  const open: Line[] = [root];
  for (const given of text.split("\n", mostLines)) {
    const trimmed = given.trim();
    if (trimmed === "") continue;
    const indent = given.length - given.trimStart().length;
    while (open.length > 1 && (open.at(-1) ?? root).indent >= indent) open.pop();
    if (open.length > deepest) continue;
    const colon = / :(?: |$)/.exec(trimmed)?.index;
    const line: Line = {
      name: colon === undefined ? trimmed : trimmed.slice(0, colon).trimEnd(),
      value: colon === undefined ? undefined : trimmed.slice(colon + 2).trim(),
      indent,
      below: [],
    };
    (open.at(-1) ?? root).below.push(line);
    open.push(line);
  }
  return root.below;
}

function gpuOf(line: Line, attributes: string): Element {
  const gpu = element("gpu", "", attributes);
  const instances = element("mig_devices");
  gpu.children.push(instances);
  for (const one of line.below) {
    if (one.name === "MIG Device") {
      const instance = element("mig_device");
      for (const below of one.below) copy(instance, below, "");
      instances.children.push(instance);
    } else if (one.name === "Processes") gpu.children.push(processesOf(one));
    else copy(gpu, one, "");
  }
  return gpu;
}

/** What the table names, at its place in the XML. */
function copy(to: Element, { name, value, below }: Line, above: string): void {
  const path = xmlPaths.get(above + name);
  if (path !== undefined && value !== undefined) put(to, path, value);
  for (const one of below) copy(to, one, `${above}${name}/`);
}

/** An instance's numbers stand before the process that runs in it. */
function processesOf({ below }: Line): Element {
  const list = element("processes");
  let [gpuInstance, computeInstance] = ["", ""];
  for (const { name, value = "", below: more } of below) {
    if (/^GPU instance ID$/i.test(name)) [gpuInstance, computeInstance] = [value, ""];
    if (/^Compute instance ID$/i.test(name)) computeInstance = value;
    if (name !== "Process ID") continue;
    const of = (wanted: string): string => more.find((one) => one.name === wanted)?.value ?? "";
    const process = element("process_info");
    put(process, "pid", value);
    put(process, "type", of("Type"));
    put(process, "process_name", of("Name"));
    put(process, "used_memory", of("Used GPU Memory"));
    put(process, "gpu_instance_id", gpuInstance);
    put(process, "compute_instance_id", computeInstance);
    list.children.push(process);
  }
  return list;
}

function element(name: string, text = "", attributes = ""): Element {
  return { name, attributes, children: [], text };
}

function put(root: Element, path: string, text: string): void {
  let at = root;
  const names = path.split("/");
  names.forEach((name, depth) => {
    const isLast = depth === names.length - 1;
    const there = isLast ? undefined : at.children.find((child) => child.name === name);
    const next = there ?? element(name, isLast ? text : "");
    if (there === undefined) at.children.push(next);
    at = next;
  });
}
