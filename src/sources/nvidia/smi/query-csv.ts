/**
 * `nvidia-smi --query-gpu=… --format=csv`, with or without its header and units, to GPUs. Pure, and never throws. The header is
 * `name, uuid, memory.used [MiB], …`; a column it does not know is left out. Processes are
 * another query's.
 */
import type { Device } from "../../../model/device.ts";
import { shortBusId } from "../bus-id.ts";
import {
  parseReportedText,
  reasonReadings,
  type SmiGpu,
  type SmiReading,
  versionIn,
} from "./gpu.ts";
import { smiRules } from "./table.ts";
import { readCell, type SmiCell } from "./value.ts";

const mostColumns = 1_024;
const mostRows = 4_096;

/** `columns` where the text has no header (`--format=csv,noheader`). */
export function parseSmiCsv(text: string, columns?: readonly string[]): SmiGpu[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const names = columns ?? cells(lines.shift() ?? "").map(columnName);
  return lines.slice(0, mostRows).flatMap((line, row) => readRow(names, cells(line), row));
}

function cells(line: string): string[] {
  return line.split(",", mostColumns).map((cell) => cell.trim());
}

/** `memory.used [MiB]` is the column memory.used; the unit stands in every cell too. */
function columnName(given: string): string {
  return given
    .replace(/\[[^[\]]*\]$/, "")
    .trimEnd()
    .toLowerCase();
}

function readRow(names: readonly string[], row: readonly string[], position: number): SmiGpu[] {
  const told = (name: string): string | undefined => {
    const at = names.indexOf(name);
    return at === -1 ? undefined : row[at];
  };
  const busId = parseReportedText(told("pci.bus_id") ?? told("gpu_bus_id"));
  const pciBusId = busId === undefined ? undefined : shortBusId(busId);
  const uuid =
    parseReportedText(told("uuid") ?? told("gpu_uuid")) ??
    (pciBusId === undefined ? undefined : `nvidia-${pciBusId}`);
  if (uuid === undefined) return [];
  const index = readCell(told("index") ?? "", "count");
  const driver = versionIn(told("kmd_version"), told("driver_version"));
  const vbios = parseReportedText(told("vbios_version"));
  const device: Device = {
    uuid,
    index:
      typeof index === "number" && Number.isSafeInteger(index) && index >= 0 ? index : position,
    vendor: "nvidia",
    model: parseReportedText(told("name") ?? told("gpu_name")) ?? "NVIDIA GPU",
    simulated: false,
    ...(pciBusId === undefined ? {} : { pciBusId }),
    ...(driver === undefined ? {} : { driver }),
    ...(vbios === undefined ? {} : { vbios }),
  };
  const readings = smiRules.flatMap(({ metric, labels, as, csv }): SmiReading[] => {
    let found: SmiCell | undefined;
    for (const name of csv) {
      const text = told(name);
      const cell = text === undefined ? undefined : readCell(text, as);
      if (typeof cell === "number" || found === undefined) found = cell ?? found;
      if (typeof found === "number") break;
    }
    if (found === undefined || (metric === "temperatureMargin" && typeof found === "string"))
      return [];
    return [labels === undefined ? { metric, cell: found } : { metric, labels, cell: found }];
  });
  const reason = (ending: string): string | undefined =>
    told(`clocks_event_reasons.${ending}`) ?? told(`clocks_throttle_reasons.${ending}`);
  const hasReasons = names.some((name) => /^clocks_(event|throttle)_reasons\./.test(name));
  return [
    {
      device,
      readings: [...readings, ...(hasReasons ? reasonReadings(reason) : [])],
      processes: "failed",
    },
  ];
}
